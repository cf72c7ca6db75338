#include "kernels/cuda/cuda_matmul_search.h"

#include <algorithm>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_status.h"
#include "kernels/cuda/cuda_matmul_descriptors.h"

namespace mr::cuda {
namespace {

constexpr int kCandidates = 8;  // cuBLASLt 13.1 returns no more, whatever is asked

// Device memory for the length of a search: scratch, and addresses that stand for the operands. All
// of it is real, because the driver looks up the addresses of what is recorded, though nothing
// runs.
class Rehearsal {
 public:
  Rehearsal() = default;
  ~Rehearsal() {
    // Fails only after a fault, which is reported elsewhere.
    if (base_ != 0) static_cast<void>(cuda_driver().mem_free(base_));
  }
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  Status open(size_t scratch_bytes) {
    scratch_bytes_ = scratch_bytes;
    return cuda_check(cuda_driver().mem_alloc(&base_, scratch_bytes + kOperandBytes),
                      "the search needs scratch, and the driver gives none");
  }
  void* scratch() const { return reinterpret_cast<void*>(base_); }
  size_t scratch_bytes() const { return scratch_bytes_; }

  // The arguments with operands that are as aligned as the problem says, and no more.
  MatmulArgs stand_ins(MatmulArgs args, const Problem& problem) const {
    args.x.data = operand(problem.x.alignment);
    args.w.data = operand(problem.w.alignment);
    args.c.data = operand(problem.c.alignment);
    args.d.data = operand(problem.d.alignment);
    args.bias = operand(kAlignment);
    return args;
  }

 private:
  static constexpr size_t kOperandBytes = 256;
  void* operand(int64_t alignment) const {
    return reinterpret_cast<void*>(base_ + scratch_bytes_ + static_cast<size_t>(alignment));
  }
  CUdeviceptr base_ = 0;
  size_t scratch_bytes_ = 0;
};

// Records the product into a graph that is thrown away: nothing runs, but all that a first call
// does (loading the algorithm's kernels, refusing what the search let through) is done now, so that
// a first call inside of the host application's capture has nothing left to do.
bool rehearse(const CublasLt& library, cublasLtHandle_t handle, Descriptors& at,
              const cublasLtMatmulAlgo_t& algorithm, const MatmulArgs& args,
              const Rehearsal& rehearsal) {
  const CudaDriver& driver = cuda_driver();
  CUstream stream = nullptr;
  if (driver.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return false;
  bool accepted = false;
  if (driver.stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
    const cublasStatus_t result = enqueue(library, handle, at, algorithm, args, rehearsal.scratch(),
                                          rehearsal.scratch_bytes(), stream);
    CUgraph graph = nullptr;
    const CUresult ended = driver.stream_end_capture(stream, &graph);
    accepted = result == CUBLAS_STATUS_SUCCESS && ended == CUDA_SUCCESS && graph != nullptr;
    CUgraphExec instance = nullptr;
    if (accepted) accepted = driver.graph_instantiate(&instance, graph, 0) == CUDA_SUCCESS;
    // Both are ours alone and never ran; a failure would repeat one that is reported elsewhere.
    if (instance != nullptr) static_cast<void>(driver.graph_exec_destroy(instance));
    if (graph != nullptr) static_cast<void>(driver.graph_destroy(graph));
  }
  static_cast<void>(driver.stream_destroy(stream));  // likewise
  return accepted;
}

cublasStatus_t set_preference(const CublasLt& library, const Problem& problem, uint64_t bytes,
                              cublasLtMatmulPreferenceOpaque_t* out) {
  Calls call(library);
  call(library.preference_init(out, sizeof *out));
  call.set(out, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes);
  call.set(out, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE |
                                 CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  call.set(out, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
           static_cast<uint32_t>(problem.w.alignment));
  call.set(out, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
           static_cast<uint32_t>(problem.x.alignment));
  call.set(out, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
           static_cast<uint32_t>(problem.c.alignment));
  call.set(out, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
           static_cast<uint32_t>(problem.d.alignment));
  return call.result();
}

// Whether the algorithm, found for another m, is accepted for this one within the scratch.
bool serves(const CublasLt& library, cublasLtHandle_t handle, MatmulArgs args,
            const Problem& problem, int64_t m, const cublasLtMatmulAlgo_t& algorithm,
            size_t scratch_bytes) {
  args.m = m;
  Descriptors at;
  cublasLtMatmulHeuristicResult_t result = {};
  return describe(library, args, problem, args.bias, &at) == CUBLAS_STATUS_SUCCESS &&
         library.check(handle, &at.operation, &at.a, &at.b, &at.c, &at.d, &algorithm, &result) ==
             CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= scratch_bytes;
}

// A plan serves every m above half of what it was prepared for. cuBLASLt's m enters only as a count
// of columns, so probing the range at up to 64 places, from above, finds where acceptance would
// end.
int64_t lowest_m(const CublasLt& library, cublasLtHandle_t handle, const MatmulArgs& args,
                 const Problem& problem, const cublasLtMatmulAlgo_t& algorithm,
                 size_t scratch_bytes) {
  const int64_t low = args.m / 2 + 1;
  const int64_t step = std::max<int64_t>((args.m - low) / 64, 1);
  int64_t accepted = args.m;
  while (accepted > low) {
    const int64_t next = std::max(accepted - step, low);
    if (!serves(library, handle, args, problem, next, algorithm, scratch_bytes)) break;
    accepted = next;
  }
  return accepted;
}

}  // namespace

Status search_matmul(CudaLibraries& libraries, const MatmulArgs& asked, const Problem& problem,
                     const MatmulKey& key, size_t bytes) {
  const CublasLt& library = *libraries.cublaslt();
  const cublasLtHandle_t handle = libraries.cublaslt_handle();
  Rehearsal rehearsal;
  MR_TRY(rehearsal.open(bytes));
  const MatmulArgs args = rehearsal.stand_ins(asked, problem);
  Descriptors at;
  cublasLtMatmulPreferenceOpaque_t preference;
  cublasStatus_t result = describe(library, args, problem, args.bias, &at);
  if (result == CUBLAS_STATUS_SUCCESS) {
    result = set_preference(library, problem, bytes, &preference);
  }
  if (result != CUBLAS_STATUS_SUCCESS) {
    return cublaslt_status(library, result, "cuBLASLt cannot describe the product");
  }
  cublasLtMatmulHeuristicResult_t found[kCandidates] = {};
  int count = 0;
  result = library.get_heuristic(handle, &at.operation, &at.a, &at.b, &at.c, &at.d, &preference,
                                 kCandidates, found, &count);
  if (result == CUBLAS_STATUS_SUCCESS) {
    for (int i = 0; i < count; ++i) {
      const cublasLtMatmulHeuristicResult_t& candidate = found[i];
      if (candidate.state != CUBLAS_STATUS_SUCCESS || candidate.workspaceSize > bytes) continue;
      if (!rehearse(library, handle, at, candidate.algo, args, rehearsal)) continue;
      PreparedMatmul prepared;
      prepared.key = key;
      prepared.algorithm = candidate.algo;
      prepared.workspace_bytes = candidate.workspaceSize;
      prepared.m_high = args.m;
      prepared.m_low = lowest_m(library, handle, args, problem, candidate.algo, bytes);
      libraries.keep(prepared);
      return {};
    }
  } else if (result != CUBLAS_STATUS_NOT_SUPPORTED && result != CUBLAS_STATUS_INVALID_VALUE) {
    return cublaslt_status(library, result, "cuBLASLt's search failed");
  }
  libraries.refuse(key);
  return {};
}

}  // namespace mr::cuda
