// A bar on standard error while something long runs; nothing where that is no terminal.

#pragma once

#include <cstddef>
#include <string>

namespace generate {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::size_t done, std::size_t total);
  void clear();  // leaves a clean line; a later update() draws the bar anew

 private:
  std::string label_;
  bool shown_;
  int percent_ = -1;
};

}  // namespace generate
