#include "api/guard.h"
#include "millrace/millrace.h"
#include "ops/matmul_plan.h"
#include "runtime/event_state.h"

using mr::ObjectKind;
using mr::Status;
using mr::api::check_handle;
using mr::api::check_out;
using mr::api::guard;

namespace {

Status check_plan(const mr_matmul_plan* plan) {
  return check_handle(plan, ObjectKind::kMatmulPlan, "plan");
}

}  // namespace

mr_status mr_matmul_plan_create(mr_context* context, const mr_matmul_problem* problem,
                                mr_matmul_plan** out, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_handle(context, ObjectKind::kContext, "context"));
    MR_TRY(check_out(out, "out"));
    mr_matmul_problem own;
    MR_TRY(mr::api::read_struct(problem, "problem", &own));
    mr::Ref<mr_matmul_plan> plan;
    MR_TRY(mr_matmul_plan::create(*context, own, &plan));
    *out = plan.give();
    return {};
  });
}

void mr_matmul_plan_retain(mr_matmul_plan* plan) noexcept {
  mr::api::retain(plan, ObjectKind::kMatmulPlan);
}

void mr_matmul_plan_release(mr_matmul_plan* plan) noexcept {
  mr::api::release(plan, ObjectKind::kMatmulPlan);
}

mr_status mr_matmul_plan_workspace(mr_matmul_plan* plan, int64_t m, uint64_t* out_bytes,
                                   mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_plan(plan));
    MR_TRY(check_out(out_bytes, "out_bytes"));
    uint64_t bytes = 0;
    MR_TRY(plan->workspace(m, &bytes));
    *out_bytes = bytes;
    return {};
  });
}

mr_status mr_matmul_plan_kernel(mr_matmul_plan* plan, int64_t m, mr_kernel_info* out,
                                mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_plan(plan));
    MR_TRY(mr::api::check_out_struct(out, "out"));
    mr_kernel_info info = MR_KERNEL_INFO_INIT;
    MR_TRY(plan->kernel(m, &info));
    mr::api::write_struct(info, out);
    return {};
  });
}

mr_status mr_matmul_run(mr_matmul_plan* plan, mr_stream* stream, const mr_matmul_operands* operands,
                        mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(check_plan(plan));
    MR_TRY(check_handle(stream, ObjectKind::kStream, "stream"));
    mr_matmul_operands own;
    MR_TRY(mr::api::read_struct(operands, "operands", &own));
    if (own.event != nullptr) {
      MR_TRY(check_handle(own.event, ObjectKind::kEvent, "operands.event"));
    }
    return plan->run(*stream, own);
  });
}
