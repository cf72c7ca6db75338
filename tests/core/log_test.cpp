// The log callback: levels, what it is given, where a line is cut.
#include "core/log.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

struct Line {
  int32_t level;
  std::string text;
  bool ended;
};
using Lines = std::vector<Line>;

void keep(void* user, int32_t level, const char* text, uint64_t length) {
  static_cast<Lines*>(user)->push_back({level, std::string(text, length), text[length] == '\0'});
}

}  // namespace

TEST_CASE("lines up to the level are given, with their level and length") {
  for (int32_t limit = MR_LOG_ERROR; limit <= MR_LOG_DEBUG; ++limit) {
    Lines lines;
    const mr::Log log(keep, &lines, limit);
    for (int32_t level = MR_LOG_ERROR; level <= MR_LOG_DEBUG; ++level) {
      CHECK(log.wants(level) == (level <= limit));
      log.line(level, "level %d", level);
    }
    REQUIRE(lines.size() == static_cast<size_t>(limit));
    for (int32_t level = MR_LOG_ERROR; level <= limit; ++level) {
      const Line& line = lines[static_cast<size_t>(level - 1)];
      CHECK(line.level == level);
      CHECK(line.text == "level " + std::to_string(level));
      CHECK(line.ended);
    }
  }
}

TEST_CASE("without a callback nothing is said") {
  const mr::Log silent;
  CHECK(!silent.wants(MR_LOG_ERROR));
  silent.line(MR_LOG_ERROR, "%s", "unheard");
}

TEST_CASE("a long line is cut at 511 bytes and ended") {
  Lines lines;
  const mr::Log log(keep, &lines, MR_LOG_DEBUG);
  for (const size_t length : {510, 511, 512, 5000}) {
    log.line(MR_LOG_DEBUG, "%s", std::string(length, 'x').c_str());
    CHECK(lines.back().text == std::string(std::min<size_t>(length, 511), 'x'));
    CHECK(lines.back().ended);
  }
}
