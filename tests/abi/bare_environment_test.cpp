// Case E16: no HOME, a HOME and a TMPDIR that do not exist, a root that cannot be written.
// Everything works and the log is silent but for at most one warning. CTest runs the test in each
// of these environments; with MILLRACE_TEST_READ_ONLY set it makes the last one itself, and ends
// with 77 where it may not.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

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

// Leaves this process a view of every file system in which nothing can be written. Needs the rights
// of root, or a kernel that gives them in a namespace of one's own. Linux 5.12 and later.
bool make_everything_read_only() {
  mount_attr read_only = {};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof read_only) == 0;
}

}  // namespace

TEST_CASE("E16: contexts and operators need no home and no place for temporary files") {
  const char* home = std::getenv("HOME");
  CHECK((home == nullptr || std::strcmp(home, "/nonexistent") == 0));  // CTest has set the scene
  if (std::getenv("MILLRACE_TEST_READ_ONLY") != nullptr) {
    CHECK(open("/tmp/millrace-test-file", O_CREAT | O_WRONLY, 0600) == -1);
    CHECK(errno == EROFS);
  }
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

int main(int argc, char** argv) {
  if (std::getenv("MILLRACE_TEST_READ_ONLY") != nullptr && !make_everything_read_only()) {
    std::perror("skipped: this machine lets nobody make its file systems read-only");
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
