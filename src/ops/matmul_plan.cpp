#include "ops/matmul_plan.h"

#include <algorithm>
#include <bit>

#include "core/checked.h"
#include "core/dtype.h"
#include "ops/check.h"
#include "ops/matmul_check.h"
#include "ops/op_list.h"

using mr::Choice;
using mr::invalid;
using mr::MatmulArgs;
using mr::Ref;
using mr::Status;

namespace mr {
namespace {

Status check_extent(int64_t value, const char* name) {
  if (value >= 0) return {};
  return invalid(name, "is negative", value, 0);
}

// All of a packed [batch, rows, columns] within 2^63 bytes, so that no address wraps later.
Status check_span(int64_t batch, int64_t rows, int64_t columns, mr_dtype dtype, const char* name) {
  int64_t span = dtype_bytes(dtype);
  for (const int64_t extent : {batch, rows, columns}) {
    if (!checked_mul(span, std::max<int64_t>(1, extent), &span)) {
      return invalid(name, "makes a tensor that spans 2^63 bytes or more", extent);
    }
  }
  return {};
}

Status check_problem(const mr_matmul_problem& problem) {
  if ((problem.flags & ~MR_MATMUL_ADD_C) != 0) {
    return invalid("problem.flags", "holds bits that this operator does not know", problem.flags,
                   MR_MATMUL_ADD_C);
  }
  if (!is_float(problem.dtype)) {
    return invalid("problem.dtype", "is none of F32, F16 and BF16", problem.dtype);
  }
  if (problem.d_dtype != problem.dtype && problem.d_dtype != MR_F32) {
    return invalid("problem.d_dtype", "is neither dtype nor F32", problem.d_dtype);
  }
  if (problem.bias_dtype != MR_ABSENT && problem.bias_dtype != problem.dtype &&
      problem.bias_dtype != MR_F32) {
    return invalid("problem.bias_dtype", "is neither absent nor dtype nor F32", problem.bias_dtype);
  }
  MR_TRY(check_activation(problem.activation, "problem.activation"));
  MR_TRY(check_extent(problem.batch, "problem.batch"));
  MR_TRY(check_extent(problem.m_max, "problem.m_max"));
  MR_TRY(check_extent(problem.n, "problem.n"));
  MR_TRY(check_extent(problem.k, "problem.k"));
  MR_TRY(check_span(problem.batch, problem.m_max, problem.k, problem.dtype, "problem.m_max"));
  MR_TRY(check_span(problem.batch, problem.n, problem.k, problem.dtype, "problem.n"));
  return check_span(problem.batch, problem.m_max, problem.n, problem.d_dtype, "problem.m_max");
}

// [batch, rows, columns], packed.
MatrixView packed(int64_t batch, int64_t rows, int64_t columns) {
  return {nullptr, batch > 0 ? rows * columns : 0, columns, 1};
}

Status check_packed(const mr_tensor& tensor, const char* name) {
  int64_t expected = 1;
  for (int32_t d = tensor.rank - 1; d >= 0; --d) {
    if (tensor.shape[d] == 0) return {};
    if (tensor.shape[d] > 1 && tensor.strides[d] != expected) {
      return invalid(name, "is not contiguous, as the plan expects", tensor.strides[d], expected);
    }
    expected *= tensor.shape[d];
  }
  return {};
}

}  // namespace
}  // namespace mr

mr_matmul_plan::mr_matmul_plan(mr_context& context, const mr_matmul_problem& problem)
    : Object(mr::ObjectKind::kMatmulPlan),
      context_(Ref<mr_context>::share(&context)),
      problem_(problem) {
  const mr::Options& options = context.options();
  if (options.forced_kernel(forced_)) preference_.forced = forced_;
  preference_.fallback_is_error = options.fallback_is_error();
  batch_invariant_ = options.determinism() == mr::Determinism::kBatchInvariant;
}

Status mr_matmul_plan::create(mr_context& context, const mr_matmul_problem& problem,
                              Ref<mr_matmul_plan>* out) {
  MR_TRY(context.check_alive());
  MR_TRY(mr::check_problem(problem));
  auto plan = Ref<mr_matmul_plan>::take(new mr_matmul_plan(context, problem));
  for (size_t i = 0; problem.m_max > 0 && problem.n > 0; ++i) {
    MR_TRY(plan->fill(&plan->buckets_[i], plan->largest_in(i)));
    if (plan->largest_in(i) == problem.m_max) break;
  }
  *out = std::move(plan);
  return {};
}

size_t mr_matmul_plan::bucket_of(int64_t m) {
  return m > 1 ? static_cast<size_t>(std::bit_width(static_cast<uint64_t>(m - 1))) : 0;
}

// m_max is below 2^61, because a tensor of that many rows fits 2^63 bytes.
int64_t mr_matmul_plan::largest_in(size_t bucket) const {
  return std::min(int64_t{1} << bucket, problem_.m_max);
}

mr::KernelList<MatmulArgs> mr_matmul_plan::rows() const {
  return context_->backend().kernels().matmul;
}

void mr_matmul_plan::set_context_fields(MatmulArgs* flat) const {
  flat->batch_invariant = batch_invariant_;
  flat->libraries = context_->libraries();
}

MatmulArgs mr_matmul_plan::flat(int64_t m) const {
  MatmulArgs flat;
  flat.dtype = problem_.dtype;
  flat.d_dtype = problem_.d_dtype;
  flat.bias_dtype = problem_.bias_dtype;
  flat.activation = problem_.activation;
  flat.batch = std::max<int64_t>(1, problem_.batch);
  flat.m = m;
  flat.n = problem_.n;
  flat.k = problem_.k;
  flat.x = mr::packed(problem_.batch, m, problem_.k);
  flat.w = mr::packed(problem_.batch, problem_.n, problem_.k);
  flat.d = mr::packed(problem_.batch, m, problem_.n);
  flat.bias_stride = problem_.bias_dtype != MR_ABSENT ? 1 : 0;
  if ((problem_.flags & MR_MATMUL_ADD_C) != 0) {
    flat.c = flat.d;
    flat.add_c = true;
    flat.beta = 1.0f;
  }
  set_context_fields(&flat);
  return flat;
}

Status mr_matmul_plan::fill(Bucket* bucket, int64_t m) {
  const MatmulArgs args = flat(m);
  Choice<MatmulArgs> choice = mr::choose(context_->info(), rows(), args, preference_, true);
  if (choice.kernel == nullptr) {
    return mr::unsupported("no kernel serves a product of this problem")
        .about("problem")
        .say(choice.refused);
  }
  // No stream: what a kernel measures, it measures on one of its own.
  const mr::Launch launch = {nullptr, &context_->info(), nullptr, 0, context_->libraries()};
  const Row& row = *choice.kernel;
  if (row.prepare != nullptr) MR_TRY(context_->watch(row.prepare(launch, args)));
  bucket->kernel = &row;
  bucket->prepared = row.find_prepared != nullptr ? row.find_prepared(launch, args) : nullptr;
  return {};
}

Status mr_matmul_plan::resolve(const MatmulArgs& args, bool explain, Choice<MatmulArgs>* choice,
                               const void** prepared) const {
  const mr::DeviceInfo& device = context_->info();
  const size_t index = bucket_of(args.m);
  const Bucket& bucket = buckets_[index];
  *prepared = nullptr;
  if (bucket.kernel != nullptr &&
      mr::reason_against(device, *bucket.kernel, args, preference_) == nullptr) {
    // The reasons against better ones are those that the bucket was filled by.
    if (explain) *choice = mr::choose(device, rows(), flat(largest_in(index)), preference_, true);
    choice->kernel = bucket.kernel;
    *prepared = bucket.prepared;
    return {};
  }
  *choice = mr::choose(device, rows(), args, preference_, true);
  if (choice->kernel != nullptr) return {};
  return mr::unsupported("no kernel serves these operands").about("matmul").say(choice->refused);
}

Status mr_matmul_plan::check_m(int64_t m) const {
  if (m < 0) return invalid("m", "is negative", m, 0);
  if (m > problem_.m_max) return invalid("m", "is above the plan's m_max", m, problem_.m_max);
  return {};
}

Status mr_matmul_plan::workspace(int64_t m, uint64_t* out_bytes) const {
  MR_TRY(context_->check_alive());
  MR_TRY(check_m(m));
  *out_bytes = 0;
  if (m == 0 || problem_.n == 0) return {};
  // Operands that the best kernel cannot take, by their alignment say, go to one further down.
  const MatmulArgs args = flat(m);
  for (const Row& row : rows()) {
    if (mr::reason_against(context_->info(), row, args, preference_) != nullptr) continue;
    *out_bytes = std::max(*out_bytes, mr::detail::scratch_need(*context_, row, args));
  }
  return {};
}

Status mr_matmul_plan::kernel(int64_t m, mr_kernel_info* out) const {
  MR_TRY(context_->check_alive());
  MR_TRY(check_m(m));
  MatmulArgs args = flat(std::max<int64_t>(1, m));
  Choice<MatmulArgs> choice;
  MR_TRY(resolve(args, true, &choice, &args.prepared));
  mr::describe(*context_, choice, args, out);
  return {};
}

Status mr_matmul_plan::check_operands(const mr_matmul_operands& operands) const {
  const mr_tensor& x = operands.x;
  if (operands.flags != 0) return invalid("operands.flags", "is not 0", operands.flags, 0);
  MR_TRY(mr::check::dtype(x, "operands.x", problem_.dtype));
  MR_TRY(mr::check::dtype(operands.d, "operands.d", problem_.d_dtype));
  const bool wants_bias = problem_.bias_dtype != MR_ABSENT;
  if (mr::check::present(operands.bias) != wants_bias) {
    return invalid("operands.bias", wants_bias ? "is absent, but the plan has a bias"
                                               : "is present, but the plan has no bias");
  }
  if (wants_bias) MR_TRY(mr::check::dtype(operands.bias, "operands.bias", problem_.bias_dtype));
  const int32_t rank = problem_.batch > 0 ? 3 : 2;
  MR_TRY(mr::check::rank(x, "operands.x", rank));
  if (rank == 3) MR_TRY(mr::check::extent(x, "operands.x", 0, problem_.batch));
  MR_TRY(mr::check::extent(x, "operands.x", rank - 1, problem_.k));
  MR_TRY(mr::check::rank(operands.w, "operands.w", rank));
  MR_TRY(mr::check::extent(operands.w, "operands.w", rank - 2, problem_.n));
  if (x.shape[rank - 2] > problem_.m_max) {
    return invalid("operands.x", "has more rows than the plan's m_max", x.shape[rank - 2],
                   problem_.m_max);
  }
  MR_TRY(mr::check_packed(x, "operands.x"));
  MR_TRY(mr::check_packed(operands.w, "operands.w"));
  MR_TRY(mr::check_packed(operands.d, "operands.d"));
  if (wants_bias) MR_TRY(mr::check_packed(operands.bias, "operands.bias"));
  if ((problem_.flags & MR_MATMUL_ADD_C) != 0) MR_TRY(mr::check_packed(operands.c, "operands.c"));
  return {};
}

Status mr_matmul_plan::run(mr_stream& stream, const mr_matmul_operands& operands) const {
  MR_TRY(context_->check_alive());
  if (&stream.context() != context_.get()) {
    return invalid("stream", "belongs to another context than the plan");
  }
  const mr::MatmulOperands named = {.x = {operands.x, "operands.x"},
                                    .w = {operands.w, "operands.w"},
                                    .bias = {operands.bias, "operands.bias"},
                                    .c = {operands.c, "operands.c"},
                                    .d = {operands.d, "operands.d"},
                                    .alpha = operands.alpha,
                                    .beta = operands.beta,
                                    .add_c = (problem_.flags & MR_MATMUL_ADD_C) != 0,
                                    .activation = problem_.activation};
  MatmulArgs flat;
  MR_TRY(mr::flatten_matmul(named, mr::Purpose::kLaunch, &flat));
  MR_TRY(check_operands(operands));
  set_context_fields(&flat);
  // The event is looked at before anything is enqueued: a failed call changes nothing.
  if (operands.event != nullptr && &operands.event->context() != context_.get()) {
    return invalid("operands.event", "belongs to another context than the plan");
  }
  if (!mr::matmul_empty(flat)) {
    Choice<MatmulArgs> choice;
    MR_TRY(resolve(flat, false, &choice, &flat.prepared));
    MR_TRY(mr::launch(stream, mr::kMatmul.name, *choice.kernel, flat));
  }
  return operands.event != nullptr ? operands.event->record_behind(stream, false) : Status();
}
