// An operator: how its public arguments become flat ones, and how those reach a kernel.
#pragma once

#include "core/result.h"
#include "kernel_api/kernel_table.h"
#include "ops/choose.h"
#include "runtime/stream_state.h"

namespace mr {

// A query does not launch: its data pointers may be NULL and count as aligned.
enum class Purpose { kLaunch, kQuery };

template <class Public, class Flat>
struct Op {
  const char* name;
  uint32_t known_flags;
  // Every check of the header, each with its sentence; then the flat form.
  Status (*flatten)(const Public& args, Purpose purpose, Flat* out);
  // Nothing to compute: the call succeeds without a launch.
  bool (*empty)(const Flat& args);
  KernelList<Flat> KernelTable::*rows;
};

namespace detail {

template <class Public, class Flat>
Status to_flat(const Op<Public, Flat>& op, mr_stream& stream, const Public& args, Purpose purpose,
               Flat* flat) {
  MR_TRY(stream.context().check_alive());
  if ((args.flags & ~op.known_flags) != 0) {
    return invalid("args.flags", "holds bits that this operator does not know", args.flags,
                   op.known_flags);
  }
  MR_TRY(op.flatten(args, purpose, flat));
  if constexpr (requires { flat->batch_invariant; }) {
    flat->batch_invariant =
        stream.context().options().determinism() == Determinism::kBatchInvariant;
  }
  if constexpr (requires { flat->libraries; }) flat->libraries = stream.context().libraries();
  return {};
}

template <class Public, class Flat>
Status pick(const Op<Public, Flat>& op, mr_stream& stream, const Flat& flat, bool explain,
            Choice<Flat>* out) {
  mr_context& context = stream.context();
  char forced[64];
  Preference preference;
  if (context.options().forced_kernel(forced)) preference.forced = forced;
  preference.fallback_is_error = context.options().fallback_is_error();
  const KernelList<Flat> rows = context.backend().kernels().*op.rows;
  *out = choose(context.info(), rows, flat, preference, explain);
  if (out->kernel != nullptr) return {};
  if (!explain) *out = choose(context.info(), rows, flat, preference, true);
  if (rows.empty()) {
    return unsupported("this backend has no kernel for the operator").about(op.name);
  }
  return unsupported("no kernel serves this call").about(op.name).say(out->refused);
}

template <class Flat>
uint64_t scratch_need(const mr_context& context, const Kernel<Flat>& row, const Flat& flat) {
  return row.workspace != nullptr ? row.workspace(context.info(), flat) : 0;
}

inline Launch make_launch(mr_stream& stream, void* scratch, uint64_t bytes) {
  const mr_context& context = stream.context();
  return {stream.native(), &context.info(), scratch, bytes, context.libraries()};
}

}  // namespace detail

// Enqueues flat arguments on a kernel that was chosen before.
template <class Flat>
Status launch(mr_stream& stream, const char* name, const Kernel<Flat>& row, const Flat& flat) {
  MR_TRY(stream.before_enqueue(name));
  const uint64_t bytes = detail::scratch_need(stream.context(), row, flat);
  void* scratch = nullptr;
  if (bytes > 0) MR_TRY(stream.scratch(bytes, &scratch));
  MR_TRY(stream.context().watch(row.launch(detail::make_launch(stream, scratch, bytes), flat)));
  return stream.after_enqueue();
}

template <class Public, class Flat>
Status run(const Op<Public, Flat>& op, mr_stream& stream, const Public& args) {
  Flat flat;
  MR_TRY(detail::to_flat(op, stream, args, Purpose::kLaunch, &flat));
  if (op.empty(flat)) return {};
  Choice<Flat> choice;
  MR_TRY(detail::pick(op, stream, flat, false, &choice));
  return launch(stream, op.name, *choice.kernel, flat);
}

template <class Public, class Flat>
Status prepare(const Op<Public, Flat>& op, mr_stream& stream, const Public& args) {
  Flat flat;
  MR_TRY(detail::to_flat(op, stream, args, Purpose::kQuery, &flat));
  if (op.empty(flat)) return {};
  Choice<Flat> choice;
  MR_TRY(detail::pick(op, stream, flat, false, &choice));
  if (choice.kernel->prepare == nullptr) return {};
  return stream.context().watch(
      choice.kernel->prepare(detail::make_launch(stream, nullptr, 0), flat));
}

template <class Public, class Flat>
Status workspace(const Op<Public, Flat>& op, mr_stream& stream, const Public& args,
                 uint64_t* out_bytes) {
  if (out_bytes == nullptr) return invalid("out_bytes", "is NULL");
  Flat flat;
  MR_TRY(detail::to_flat(op, stream, args, Purpose::kQuery, &flat));
  if (op.empty(flat)) return *out_bytes = 0, Status();
  Choice<Flat> choice;
  MR_TRY(detail::pick(op, stream, flat, false, &choice));
  *out_bytes = detail::scratch_need(stream.context(), *choice.kernel, flat);
  return {};
}

// Fills what mr_<op>_kernel() answers; struct_size is the caller's business.
template <class Flat>
void describe(const mr_context& context, const Choice<Flat>& choice, const Flat& flat,
              mr_kernel_info* out) {
  const Kernel<Flat>& row = *choice.kernel;
  const Occupancy occupancy =
      row.occupancy != nullptr ? row.occupancy(context.info(), flat) : Occupancy{};
  out->workspace_bytes = detail::scratch_need(context, row, flat);
  out->threads_per_block = occupancy.threads_per_block;
  out->registers_per_thread = occupancy.registers_per_thread;
  out->blocks_per_multiprocessor = occupancy.blocks_per_multiprocessor;
  out->shared_bytes_per_block = occupancy.shared_bytes_per_block;
  std::snprintf(out->limit, sizeof out->limit, "%s", occupancy.limit);
  std::snprintf(out->name, sizeof out->name, "%s", row.name);
  std::snprintf(out->refused, sizeof out->refused, "%s", choice.refused);
}

template <class Public, class Flat>
Status kernel(const Op<Public, Flat>& op, mr_stream& stream, const Public& args,
              mr_kernel_info* out) {
  Flat flat;
  MR_TRY(detail::to_flat(op, stream, args, Purpose::kQuery, &flat));
  Choice<Flat> choice;
  MR_TRY(detail::pick(op, stream, flat, true, &choice));
  describe(stream.context(), choice, flat, out);
  return {};
}

}  // namespace mr
