// A page of memory that is not there yet: a copy that reads it stands still until the test says
// what it holds. So a deferred stream can be held up for as long as a test needs, through the
// interface alone.
//
// The page is mapped without access. Who touches it gets SIGSEGV, whose handler waits until the
// page is ready and returns, which repeats the access.
#pragma once

#include <doctest/doctest.h>
#include <millrace/millrace.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace test {

class SlowPage {
 public:
  SlowPage() {
    bytes_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    data_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(data_ != MAP_FAILED);
    install();
    for (Slot& slot : slots()) {
      uintptr_t free = 0;
      if (!slot.address.compare_exchange_strong(free, reinterpret_cast<uintptr_t>(data_))) continue;
      slot.ready = false;
      slot.arrived = false;
      slot_ = &slot;
      return;
    }
    FAIL("too many slow pages at once");
  }
  // All streams that read the page must have passed it.
  ~SlowPage() {
    appear();
    slot_->address = 0;
    munmap(data_, bytes_);
  }
  SlowPage(const SlowPage&) = delete;
  SlowPage& operator=(const SlowPage&) = delete;

  const void* data() const { return data_; }

  // Holds `stream`, a deferred one, up until appear().
  void hold_up(mr_stream* stream) {
    REQUIRE(mr_copy(stream, &sink_, data_, 1, MR_COPY_ON_DEVICE, nullptr) == MR_OK);
  }
  // Until a stream stands before the page.
  void wait_for_arrival() const {
    while (!slot_->arrived) std::this_thread::yield();
  }
  // The page is there from now on, full of zeros, and who waits goes on. The test itself never
  // touches it.
  void appear() {
    if (slot_->ready) return;
    REQUIRE(mprotect(data_, bytes_, PROT_READ) == 0);
    slot_->ready = true;
  }

 private:
  struct Slot {
    std::atomic<uintptr_t> address{0};
    std::atomic<bool> ready{false};
    std::atomic<bool> arrived{false};
  };
  static constexpr int kSlots = 8;
  struct Slots {
    Slot each[kSlots];
    Slot* begin() { return each; }
    Slot* end() { return each + kSlots; }
  };
  static Slots& slots() {
    static Slots all;
    return all;
  }

  static void wait(int number, siginfo_t* info, void*) {
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    for (Slot& slot : slots()) {
      const uintptr_t start = slot.address;
      if (start == 0 || at < start || at >= start + page) continue;
      slot.arrived = true;
      const timespec moment = {0, 100000};
      while (!slot.ready) nanosleep(&moment, nullptr);
      return;
    }
    signal(number,
           SIG_DFL);  // a fault of somebody else's: the access is repeated and ends the process
  }

  // Each time anew: doctest puts its own handlers back between test cases.
  static void install() {
    (void)slots();
    struct sigaction action = {};
    action.sa_sigaction = wait;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    REQUIRE(sigaction(SIGSEGV, &action, nullptr) == 0);
  }

  void* data_ = nullptr;
  size_t bytes_ = 0;
  Slot* slot_ = nullptr;
  unsigned char sink_ = 0;
};

}  // namespace test
