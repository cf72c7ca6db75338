// The command line of `generate`.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "generation.h"

namespace generate {

struct GenerateOptions {
  std::filesystem::path model;
  std::vector<std::string> prompts;  // empty: one a line on standard input
  std::int32_t max_tokens = 128;
  SamplingOptions sampling;
  std::string dtype = "f32";
  std::string device = "auto";
  bool stats = false;
  std::filesystem::path score;  // set: print the score of this file instead
};

/// Nothing, with *status set, where the program should end at once: after --help, or after a
/// message about a wrong argument.
std::optional<GenerateOptions> parse_options(int argc, char** argv, int* status);

}  // namespace generate
