// The object behind mr_matmul_plan: a kernel chosen, and prepared, for each power of two of m.
//
// Immutable once made, so runs need no lock. What the context's options say is read at creation.
#pragma once

#include <array>

#include "core/object.h"
#include "millrace/matmul.h"
#include "ops/dispatch.h"
#include "runtime/event_state.h"

struct mr_matmul_plan final : mr::Object {
 public:
  static mr::Status create(mr_context& context, const mr_matmul_problem& problem,
                           mr::Ref<mr_matmul_plan>* out);

  mr::Status workspace(int64_t m, uint64_t* out_bytes) const;
  mr::Status kernel(int64_t m, mr_kernel_info* out) const;
  mr::Status run(mr_stream& stream, const mr_matmul_operands& operands) const;

 private:
  using Row = mr::Kernel<mr::MatmulArgs>;

  // Products with up to 2^i rows, and more than half of that.
  struct Bucket {
    const Row* kernel = nullptr;
    const void* prepared = nullptr;  // what the kernel's find_prepared gave
  };

  mr_matmul_plan(mr_context& context, const mr_matmul_problem& problem);
  ~mr_matmul_plan() override = default;

  mr::Status check_m(int64_t m) const;
  mr::Status check_operands(const mr_matmul_operands& operands) const;
  // A product of m rows with aligned operands: its flat form without data.
  mr::MatmulArgs flat(int64_t m) const;
  void set_context_fields(mr::MatmulArgs* flat) const;
  mr::Status fill(Bucket* bucket, int64_t m);
  // The bucket's kernel where it takes the arguments, else the next in line, unprepared.
  mr::Status resolve(const mr::MatmulArgs& args, bool explain, mr::Choice<mr::MatmulArgs>* choice,
                     const void** prepared) const;
  mr::KernelList<mr::MatmulArgs> rows() const;
  static size_t bucket_of(int64_t m);
  int64_t largest_in(size_t bucket) const;

  const mr::Ref<mr_context> context_;
  const mr_matmul_problem problem_;
  char forced_[64] = {};
  mr::Preference preference_;
  bool batch_invariant_ = false;
  std::array<Bucket, 64> buckets_;
};
