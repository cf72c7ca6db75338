// The statistics of one memory; see mr_memory_stats.
#pragma once

#include <algorithm>
#include <cstdint>

#include "millrace/memory.h"

namespace mr {

// What a caller was given.
struct Grant {
  uint64_t requested = 0;  // as asked
  uint64_t bytes = 0;      // after rounding
  uint32_t tag = MR_TAG_OTHER;
};

inline void set_counter(mr_counter* counter, uint64_t value) {
  if (value > counter->current) counter->total += value - counter->current;
  counter->current = value;
  counter->peak = std::max(counter->peak, value);
}

inline void rise(mr_counter* counter, uint64_t by) {
  counter->current += by;
  counter->total += by;
  counter->peak = std::max(counter->peak, counter->current);
}

inline void sink(mr_counter* counter, uint64_t by) { counter->current -= by; }

inline void reset_peak(mr_counter* counter) { counter->peak = counter->current; }

// Under the pool's lock. `active` and `reserved` may go up and down within one operation; what
// readers see is brought up to date by settle(), once per operation, so that a peak never shows a
// state that no caller could have observed.
class Figures {
 public:
  uint64_t reserved() const { return reserved_; }
  uint64_t active() const { return active_; }
  const mr_memory_stats& read() const { return stats_; }

  void taken(uint64_t bytes, uint64_t calls) {
    reserved_ += bytes;
    stats_.driver_allocations += calls;
  }
  void returned(uint64_t bytes) {
    reserved_ -= bytes;
    ++stats_.driver_frees;
  }
  void granted(const Grant& grant) {
    rise(&stats_.requested, grant.requested);
    rise(&stats_.allocated, grant.bytes);
    rise(&stats_.tags[grant.tag], grant.bytes);
    active_ += grant.bytes;
    ++stats_.allocations;
  }
  // Freed by the caller; it stays active until finished().
  void freed(const Grant& grant) {
    sink(&stats_.requested, grant.requested);
    sink(&stats_.allocated, grant.bytes);
    sink(&stats_.tags[grant.tag], grant.bytes);
    ++stats_.frees;
  }
  // Freed memory that was counted as finished elsewhere is active here.
  void lingers(uint64_t bytes) { active_ += bytes; }
  // No queued work can use these bytes any more, or only such as the next user is ordered behind.
  void finished(uint64_t bytes) { active_ -= bytes; }
  // granted() and settle() for memory that was reserved already; freed(), finished() and settle()
  // for memory that stays so. They are most of what a cached allocation costs.
  void taken_back(const Grant& grant) {
    granted(grant);
    set_counter(&stats_.active, active_);
    sink(&stats_.inactive, grant.bytes);
  }
  void put_aside(const Grant& grant) {
    sink(&stats_.requested, grant.requested);
    sink(&stats_.allocated, grant.bytes);
    sink(&stats_.tags[grant.tag], grant.bytes);
    ++stats_.frees;
    active_ -= grant.bytes;
    sink(&stats_.active, grant.bytes);
    rise(&stats_.inactive, grant.bytes);
  }
  void retried() { ++stats_.retries; }
  void out_of_memory() { ++stats_.out_of_memory; }

  void settle() {
    set_counter(&stats_.active, active_);
    set_counter(&stats_.reserved, reserved_);
    // The books of one stream hold nothing that is reserved.
    set_counter(&stats_.inactive, reserved_ > active_ ? reserved_ - active_ : 0);
  }

  // Counts what `other` counts too. A sum of peaks is an upper bound of the peak of the sum.
  void add(const Figures& other) {
    const mr_memory_stats& from = other.stats_;
    add_counter(from.requested, &stats_.requested);
    add_counter(from.allocated, &stats_.allocated);
    add_counter(from.active, &stats_.active);
    for (size_t i = 0; i < MR_TAG_COUNT; ++i) add_counter(from.tags[i], &stats_.tags[i]);
    stats_.allocations += from.allocations;
    stats_.frees += from.frees;
    active_ += other.active_;
  }

  void reset_peaks() {
    for (mr_counter* counter : {&stats_.requested, &stats_.allocated, &stats_.active,
                                &stats_.reserved, &stats_.inactive}) {
      reset_peak(counter);
    }
    for (mr_counter& tag : stats_.tags) reset_peak(&tag);
  }

 private:
  static void add_counter(const mr_counter& from, mr_counter* to) {
    to->current += from.current;
    to->peak += from.peak;
    to->total += from.total;
  }
  mr_memory_stats stats_ = {};
  uint64_t active_ = 0;
  uint64_t reserved_ = 0;
};

}  // namespace mr
