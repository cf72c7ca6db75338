#include "progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace generate {

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), shown_(isatty(STDERR_FILENO) != 0) {}

void ProgressBar::clear() {
  if (percent_ >= 0) std::fputs("\r\033[K", stderr);
  percent_ = -1;
}

void ProgressBar::update(std::size_t done, std::size_t total) {
  constexpr int kWidth = 30;
  if (!shown_ || total == 0) return;
  const int percent = static_cast<int>(100.0 * static_cast<double>(std::min(done, total)) /
                                       static_cast<double>(total));
  if (percent == percent_) return;
  percent_ = percent;
  const std::string bar(static_cast<std::size_t>(kWidth * percent / 100), '#');
  std::fprintf(stderr, "\r%s [%-*s] %3d%%", label_.c_str(), kWidth, bar.c_str(), percent);
  std::fflush(stderr);
}

}  // namespace generate
