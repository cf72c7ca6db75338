// Case E16: no HOME, a HOME and a TMPDIR that do not exist. Everything works and the log is silent
// but for at most one warning. The test is run in each of these environments by CTest.

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "plugin_host.h"

namespace {

struct Lines {
  int count = 0;
  std::string text;
};

void collect(void* user, int32_t, const char* text, uint64_t length) {
  auto* lines = static_cast<Lines*>(user);
  ++lines->count;
  lines->text.append(text, length).append("\n");
}

}  // namespace

TEST_CASE("E16: contexts and operators need no home and no place for temporary files") {
  const char* home = std::getenv("HOME");
  CHECK((home == nullptr || std::strcmp(home, "/nonexistent") == 0));  // CTest has set the scene
  std::string why;
  const mr_api* api =
      plugin_host::table_of(dlopen(plugin_host::library_file().c_str(), RTLD_NOW), &why);
  REQUIRE_MESSAGE(api != nullptr, why);
  Lines lines;
  mr_error err;
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  config.log = collect;
  config.log_user = &lines;
  config.log_level = MR_LOG_WARNING;
  mr_context* context = nullptr;
  REQUIRE_MESSAGE(api->context_create(&config, &context, &err) == MR_OK, err.text);
  CHECK(plugin_host::run_once(*api, 6.0f, context) == "");
  api->context_release(context);
  CHECK_MESSAGE(lines.count <= 1, lines.text);
}
