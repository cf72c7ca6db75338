// The log callback of one context. Lines are formatted into a fixed buffer: logging never
// allocates.
#pragma once

#include <cstdint>

#include "millrace/context.h"

namespace mr {

class Log {
 public:
  Log() = default;
  Log(mr_log_fn sink, void* user, int32_t level) : sink_(sink), user_(user), level_(level) {}

  bool wants(int32_t level) const { return sink_ != nullptr && level <= level_; }
  // printf-style; truncated at 512 bytes. Never given tensor contents.
  [[gnu::format(printf, 3, 4)]] void line(int32_t level, const char* format, ...) const;

 private:
  mr_log_fn sink_ = nullptr;
  void* user_ = nullptr;
  int32_t level_ = 0;
};

}  // namespace mr
