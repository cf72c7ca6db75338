#include "core/log.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace mr {

void Log::line(int32_t level, const char* format, ...) const {
  if (!wants(level)) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  sink_(user_, level, text, std::strlen(text));
}

}  // namespace mr
