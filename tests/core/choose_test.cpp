// Dispatch: the first row that fits, and why those before it did not.
#include "ops/choose.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using mr::DeviceInfo;
using mr::Preference;

struct Args {
  mr_dtype dtype = MR_F32;
  bool odd = false;
};
using Row = mr::Kernel<Args>;

const char* no_odd(const DeviceInfo&, const Args& args) {
  return args.odd ? "the width is odd" : nullptr;
}
const char* never(const DeviceInfo&, const Args&) { return "never"; }

const Row kRows[] = {
    {.name = "newest", .arch_min = 90, .arch_max = 99},
    {.name = "half", .dtypes = {MR_F16, MR_BF16}},
    {.name = "even", .reject = no_odd},
    {.name = "plain"},
};

DeviceInfo device(int architecture) {
  DeviceInfo info;
  info.architecture = architecture;
  return info;
}

struct Outcome {
  std::string kernel, refused;
};

Outcome choose(int architecture, const Args& args, const Preference& preference = {},
               bool explain = true, mr::KernelList<Args> rows = kRows) {
  const auto choice = mr::choose(device(architecture), rows, args, preference, explain);
  return {choice.kernel != nullptr ? choice.kernel->name : "", choice.refused};
}

}  // namespace

TEST_CASE("the first row that fits runs, and those after it are not asked") {
  CHECK(choose(90, {}).kernel == "newest");
  CHECK(choose(90, {}).refused.empty());
  CHECK(choose(80, {.dtype = MR_F16}).kernel == "half");
  CHECK(choose(80, {}).kernel == "even");
  CHECK(choose(80, {.odd = true}).kernel == "plain");
}

TEST_CASE("the architecture range is inclusive at both ends") {
  CHECK(choose(89, {}).kernel == "even");
  CHECK(choose(90, {}).kernel == "newest");
  CHECK(choose(99, {}).kernel == "newest");
  CHECK(choose(100, {}).kernel == "even");
  CHECK(choose(0, {}).kernel == "even");
}

TEST_CASE("each reason is given with the row's name, in order") {
  const Outcome outcome = choose(80, {.odd = true});
  CHECK(outcome.refused ==
        "newest: the device's architecture is outside the kernel's range; "
        "half: the kernel has no code for this dtype; even: the width is odd");
  CHECK(choose(80, {.odd = true}, {}, false).refused.empty());
  CHECK(choose(80, {.odd = true}, {}, false).kernel == "plain");
}

TEST_CASE("a forced kernel runs or nothing does") {
  const Preference plain = {.forced = "plain"};
  CHECK(choose(90, {}, plain).kernel == "plain");
  CHECK(choose(90, {}, plain).refused.find("newest: the option force_kernel names another") == 0);
  const Outcome unfit = choose(80, {}, {.forced = "half"});
  CHECK(unfit.kernel.empty());
  CHECK(unfit.refused.find("half: the kernel has no code for this dtype") != std::string::npos);
  CHECK(choose(80, {}, {.forced = "no such kernel"}).kernel.empty());
  CHECK(choose(80, {}, {.forced = "plai"}).kernel.empty());
}

TEST_CASE("fallback=error lets the first row alone answer") {
  const Preference strict = {.fallback_is_error = true};
  CHECK(choose(90, {}, strict).kernel == "newest");
  const Outcome refused = choose(80, {}, strict);
  CHECK(refused.kernel.empty());
  CHECK(refused.refused == "newest: the device's architecture is outside the kernel's range");
}

TEST_CASE("fallback=error with a forced kernel: that kernel is the best there is") {
  const Preference both = {.forced = "plain", .fallback_is_error = true};
  CHECK(choose(80, {}, both).kernel == "plain");
}

TEST_CASE("no rows, or none that fits") {
  CHECK(choose(90, {}, {}, true, {}).kernel.empty());
  const Row refusing[] = {{.name = "a", .reject = never}, {.name = "b", .reject = never}};
  CHECK(choose(90, {}, {}, true, refusing).kernel.empty());
  CHECK(choose(90, {}, {}, true, refusing).refused == "a: never; b: never");
}

TEST_CASE("reasons beyond 383 bytes are cut, not written past the end") {
  const std::string name(60, 'n');
  std::vector<Row> rows(20, Row{.name = name.c_str(), .reject = never});
  const Outcome outcome = choose(90, {}, {}, true, rows);
  CHECK(outcome.refused.size() == 383);
  CHECK(outcome.refused.find("nn: never; nnn") != std::string::npos);
}
