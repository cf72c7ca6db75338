// Matmul on CUDA through cuBLASLt, and the list of all of CUDA's matmul rows.
//
// cuBLASLt thinks in columns. Our d[m, n] = x[m, k] w[n, k]^T, row by row in memory, is its
// D^T[n, m] = W X^T: its A is w, its B is x, its D has n rows, and its bias, one number per row of
// D, is ours, one per feature. A matrix whose rows are contiguous is, to it, the transposed one.
//
// What it serves here has cuBLASLt's own semantics equal to ours: activation NONE (its RELU does
// not promise to keep a NaN, its GELU is not the form of op.h), a bias of d's dtype, beta * c.
// Float32 uses CUBLAS_COMPUTE_32F, which is not TF32. Split-K may reduce in float32 only.
//
// The search for an algorithm is prepare's: a launch looks up what was found and enqueues. What
// cuBLASLt turns out not to serve is remembered, and the next row takes it from then on.
#include "backend/cuda/cuda_device.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/cuda_matmul_descriptors.h"
#include "kernels/cuda/cuda_matmul_search.h"

namespace mr::cuda {
namespace {

const char* reject(const DeviceInfo&, const MatmulArgs& args) {
  if (const char* reason = reject_call(args)) return reason;
  const Problem problem = problem_of(args);
  if (const char* reason = reject_problem(args, problem)) return reason;
  const auto* libraries = static_cast<const CudaLibraries*>(args.libraries);
  if (libraries == nullptr) return nullptr;
  if (libraries->cublaslt_missing()) return "cuBLASLt 13 is not on this machine";
  if (!libraries->any_refused()) return nullptr;
  // What was refused with the best alignment is refused with any.
  if (libraries->is_refused(key_of(args, problem)) ||
      libraries->is_refused(key_of(args, aligned(problem)))) {
    return "cuBLASLt has no algorithm for this problem";
  }
  return nullptr;
}

// As much as a stream has of its own: NVIDIA advises 32 MiB from Hopper on and 4 MiB before, as an
// upper bound. The algorithm found may need less; without any, split-K is ruled out.
size_t workspace(const DeviceInfo& device, const MatmulArgs&) {
  return device.architecture >= 90 ? size_t{32} << 20 : size_t{4} << 20;
}

Status prepare(const Launch& at, const MatmulArgs& args) {
  auto& libraries = *static_cast<CudaLibraries*>(at.libraries);
  const CudaScope scope(at.device->ordinal);
  MR_TRY(scope.status());
  const CudaRelaxedCapture relaxed;
  MR_TRY(libraries.open_cublaslt());
  if (libraries.cublaslt() == nullptr) return {};  // absent: reject() says so from now on
  const Problem problem = problem_of(args);
  const MatmulKey key = key_of(args, problem);
  if (libraries.find(key) != nullptr) return {};
  return search_matmul(libraries, args, problem, key, workspace(*at.device, args));
}

const void* find_prepared(const Launch& at, const MatmulArgs& args) {
  const auto& libraries = *static_cast<const CudaLibraries*>(at.libraries);
  if (libraries.cublaslt() == nullptr) return nullptr;
  return libraries.find(key_of(args, problem_of(args)));
}

Status launch_cublaslt(const Launch& at, const MatmulArgs& args) {
  const auto& libraries = *static_cast<const CudaLibraries*>(at.libraries);
  const CublasLt* library = libraries.cublaslt();
  // A plan chose this row for its shape; what a single run of it brings (alpha, strides, addresses)
  // may be something that only the row below takes.
  if (reject_call(args) != nullptr || libraries.cublaslt_missing()) {
    return matmul_plain_row().launch(at, args);
  }
  const Problem problem = problem_of(args);
  if (reject_problem(args, problem) != nullptr) return matmul_plain_row().launch(at, args);
  const auto* prepared = static_cast<const PreparedMatmul*>(args.prepared);
  if (prepared != nullptr) {
    if (!fits(*prepared, args, problem)) return matmul_plain_row().launch(at, args);
  } else {
    if (library != nullptr) prepared = libraries.find(key_of(args, problem));
    if (prepared == nullptr) {
      return error(MR_NOT_PREPARED,
                   "no algorithm was searched for this shape, these strides and alignments: call "
                   "mr_matmul_prepare() or use a plan");
    }
  }
  const CudaScope scope(at.device->ordinal);
  MR_TRY(scope.status());
  // Should cuBLASLt still have something to set up, that must not break the host's capture.
  const CudaRelaxedCapture relaxed;
  Descriptors descriptors;
  cublasStatus_t result = describe(*library, args, problem, args.bias, &descriptors);
  if (result == CUBLAS_STATUS_SUCCESS) {
    result = enqueue(*library, libraries.cublaslt_handle(), descriptors, prepared->algorithm, args,
                     at.scratch, at.scratch_bytes, static_cast<CUstream>(at.stream));
  }
  if (result == CUBLAS_STATUS_SUCCESS) return {};
  return cublaslt_status(*library, result, "cuBLASLt refuses the product");
}

}  // namespace

Kernel<MatmulArgs> matmul_cublaslt_row() {
  return {.name = "cuda_matmul_cublaslt",
          .reject = reject,
          .workspace = workspace,
          .prepare = prepare,
          .find_prepared = find_prepared,
          .launch = launch_cublaslt};
}

KernelList<MatmulArgs> matmul() {
  static const Kernel<MatmulArgs> rows[] = {matmul_cublaslt_row(), matmul_plain_row()};
  return rows;
}

}  // namespace mr::cuda
