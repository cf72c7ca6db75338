// The options of a context: each row of the table in context.h, where values come from, what is
// refused.
#include "core/options.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

using mr::Options;
using mr::Status;

struct Row {
  const char* name;
  const char* variable;
  const char* initial;
  std::vector<std::string> legal;
  std::vector<std::string> illegal;
  bool fixed;
};

const std::string kLongest(63, 'k');
const std::string kTooLong(64, 'k');
const std::string kLongestFile(4095, 'f');
const std::string kTooLongFile(4096, 'f');

const std::vector<Row> kRows = {
    {"host.streams",
     "MR_HOST_STREAMS",
     "inline",
     {"inline", "deferred"},
     {"", "Inline", "inline ", "inlin", "inline|deferred", "deferredx", "|"},
     true},
    {"host.threads",
     "MR_HOST_THREADS",
     "0",
     {"0", "1", "7", "1024"},
     {"", "-1", "1025", "1.5", "0x4", " 4", "4 ", "four", "99999999999999999999"},
     true},
    {"host.blas",
     "MR_HOST_BLAS",
     "auto",
     {"auto", "off", "/a/b.so", kLongestFile},
     {kTooLongFile},
     true},
    {"determinism",
     "MR_DETERMINISM",
     "fast",
     {"fast", "run-to-run", "batch-invariant"},
     {"", "slow", "FAST", "run_to_run", "fast|run-to-run"},
     false},
    {"force_kernel", "MR_FORCE_KERNEL", "", {"", "x", kLongest}, {kTooLong}, false},
    {"fallback", "MR_FALLBACK", "allow", {"allow", "error"}, {"", "allowed", "off"}, false},
    {"synchronous", "MR_SYNCHRONOUS", "off", {"off", "on"}, {"", "ON", "1", "true", "o"}, false},
    {"library.cublaslt",
     "MR_LIBRARY_CUBLASLT",
     "",
     {"", "/x/y.so.13", kLongestFile},
     {kTooLongFile},
     true},
};

// An environment variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    REQUIRE(setenv(name, value.c_str(), 1) == 0);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::string get(const Options& options, const char* name) {
  std::string value;
  CHECK(options.get(name, &value).ok());
  return value;
}

std::string text_of(const Status& status) {
  mr_error error = {};
  mr::report(status, &error);
  return error.text;
}

std::string entry(const char* name, const std::string& value) {
  return std::string(name) + "=" + value;
}

}  // namespace

TEST_CASE("defaults") {
  Options options;
  REQUIRE(options.load(nullptr).ok());
  for (const Row& row : kRows) CHECK(get(options, row.name) == row.initial);
  CHECK(options.determinism() == mr::Determinism::kFast);
  CHECK(!options.synchronous());
  CHECK(!options.fallback_is_error());
  char name[64];
  CHECK(!options.forced_kernel(name));
}

TEST_CASE("every legal value is taken from the text and from the environment; the text wins") {
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.name));
    for (const std::string& value : row.legal) {
      Options from_text;
      CHECK(from_text.load(entry(row.name, value).c_str()).ok());
      CHECK(get(from_text, row.name) == value);
      const Variable variable(row.variable, value);
      Options from_environment, from_both;
      CHECK(from_environment.load(nullptr).ok());
      CHECK(get(from_environment, row.name) == value);
      CHECK(from_both.load(entry(row.name, row.legal.front()).c_str()).ok());
      CHECK(get(from_both, row.name) == row.legal.front());
    }
  }
}

TEST_CASE("every illegal value is refused, naming the option, wherever it comes from") {
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.name));
    for (const std::string& value : row.illegal) {
      CAPTURE(value);
      Options options;
      const Status refused = options.load(entry(row.name, value).c_str());
      CHECK(refused.code == MR_INVALID_ARGUMENT);
      CHECK(text_of(refused).find(row.name) != std::string::npos);
      CHECK(text_of(refused).find("legal: ") != std::string::npos);
      if (value.empty() || value.size() < 4096) {
        const Variable variable(row.variable, value);
        Options environment;
        CHECK(environment.load(nullptr).code == MR_INVALID_ARGUMENT);
      }
      Options later;
      REQUIRE(later.load(nullptr).ok());
      CHECK(later.set(row.name, value.c_str()).code == MR_INVALID_ARGUMENT);
      CHECK(get(later, row.name) == row.initial);
    }
  }
}

TEST_CASE("what is fixed at creation cannot be set later, the others can") {
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.name));
    Options options;
    REQUIRE(options.load(nullptr).ok());
    for (const std::string& value : row.legal) {
      const Status status = options.set(row.name, value.c_str());
      CHECK(status.ok() == !row.fixed);
      CHECK(get(options, row.name) == (row.fixed ? row.initial : value));
      if (row.fixed) CHECK(text_of(status).find(row.name) != std::string::npos);
    }
  }
}

TEST_CASE("the text: several entries, empty ones, the last of a name wins, names must exist") {
  Options options;
  REQUIRE(options.load(";;determinism=run-to-run;synchronous=on;;synchronous=off;").ok());
  CHECK(options.determinism() == mr::Determinism::kRunToRun);
  CHECK(!options.synchronous());
  CHECK(options.load("").ok());
  CHECK(get(options, "determinism") == "fast");  // load() starts from the defaults
  for (const char* wrong : {"nonsense=1", "=1", "determinism", "determinism;synchronous=on",
                            " determinism=fast", "Determinism=fast", "determinis=fast"}) {
    CAPTURE(std::string(wrong));
    CHECK(Options().load(wrong).code == MR_INVALID_ARGUMENT);
  }
  // A value may hold the sign that splits name and value.
  CHECK(options.load("host.blas=/a=b/c.so").ok());
  CHECK(get(options, "host.blas") == "/a=b/c.so");
  CHECK(text_of(Options().load("speed=11")).find("speed") != std::string::npos);
}

TEST_CASE("names and values that are NULL or unknown") {
  Options options;
  REQUIRE(options.load(nullptr).ok());
  std::string value = "kept";
  CHECK(options.get(nullptr, &value).code == MR_INVALID_ARGUMENT);
  CHECK(options.get("host", &value).code == MR_INVALID_ARGUMENT);
  CHECK(options.get("", &value).code == MR_INVALID_ARGUMENT);
  CHECK(value == "kept");
  CHECK(options.set(nullptr, "x").code == MR_INVALID_ARGUMENT);
  CHECK(options.set("determinism", nullptr).code == MR_INVALID_ARGUMENT);
  CHECK(options.set("determinism.", "fast").code == MR_INVALID_ARGUMENT);
}

TEST_CASE("what enqueue reads follows each set") {
  Options options;
  REQUIRE(options.load(nullptr).ok());
  REQUIRE(options.set("determinism", "batch-invariant").ok());
  CHECK(options.determinism() == mr::Determinism::kBatchInvariant);
  REQUIRE(options.set("synchronous", "on").ok());
  CHECK(options.synchronous());
  REQUIRE(options.set("fallback", "error").ok());
  CHECK(options.fallback_is_error());
  char name[64];
  REQUIRE(options.set("force_kernel", kLongest.c_str()).ok());
  REQUIRE(options.forced_kernel(name));
  CHECK(name == kLongest);
  REQUIRE(options.set("force_kernel", "").ok());
  CHECK(!options.forced_kernel(name));
  REQUIRE(options.set("determinism", "run-to-run").ok());
  CHECK(options.determinism() == mr::Determinism::kRunToRun);
  REQUIRE(options.set("fallback", "allow").ok());
  CHECK(!options.fallback_is_error());
}
