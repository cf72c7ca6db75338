#include "api/guard.h"
#include "millrace/millrace.h"
#include "runtime/context_state.h"

using mr::ObjectKind;
using mr::Status;
using mr::api::guard;

mr_status mr_context_create(const mr_context_config* config, mr_context** out,
                            mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_out(out, "out"));
    mr_context_config own;
    MR_TRY(mr::api::read_struct(config, "config", &own));
    if (own.memory != nullptr) {
      MR_TRY(mr::api::check_handle(own.memory, ObjectKind::kMemory, "config.memory"));
    }
    mr::Ref<mr_context> context;
    MR_TRY(mr_context::create(own, &context));
    *out = context.give();
    return {};
  });
}

void mr_context_retain(mr_context* context) noexcept {
  mr::api::retain(context, ObjectKind::kContext);
}

void mr_context_release(mr_context* context) noexcept {
  mr::api::release(context, ObjectKind::kContext);
}

mr_status mr_context_health(mr_context* context, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_handle(context, ObjectKind::kContext, "context"));
    return context->check_alive();
  });
}

mr_memory* mr_context_memory(mr_context* context) noexcept {
  return context != nullptr && context->kind() == ObjectKind::kContext ? &context->memory()
                                                                       : nullptr;
}

mr_status mr_context_set_option(mr_context* context, const char* name, const char* value,
                                mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_handle(context, ObjectKind::kContext, "context"));
    return context->options().set(name, value);
  });
}

mr_status mr_context_get_option(mr_context* context, const char* name, char* out, uint64_t capacity,
                                uint64_t* out_length, mr_error* err) noexcept {
  return guard(err, [&]() -> Status {
    MR_TRY(mr::api::check_handle(context, ObjectKind::kContext, "context"));
    std::string value;
    MR_TRY(context->options().get(name, &value));
    return mr::api::write_text(value.c_str(), out, capacity, out_length);
  });
}
