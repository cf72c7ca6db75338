/* The loader (bindings/loader), one scenario per process, since a process opens one library for
 * good.
 *
 *   loader_test SCENARIO [FILE [OTHER_FILE]]
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "millrace_loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures = 0;

#define CHECK(condition)                                     \
  do {                                                       \
    if (!(condition)) {                                      \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                            \
    }                                                        \
  } while (0)

static mr_error err;

static int says(const char* part) {
  if (strstr(err.text, part) != NULL) return 1;
  printf("the text lacks \"%s\": %s\n", part, err.text);
  return 0;
}

static void check_closed(void) {
  mr_rmsnorm_args args = MR_RMSNORM_ARGS_INIT;
  const mr_api* api = NULL;
  memset(&err, 0, sizeof err);
  CHECK(mr_rmsnorm(NULL, &args, &err) == MR_DEPENDENCY_MISSING);
  CHECK(err.code == MR_DEPENDENCY_MISSING && says("mr_rmsnorm") && says("mrl_open"));
  CHECK(mr_rmsnorm(NULL, &args, NULL) == MR_DEPENDENCY_MISSING);
  CHECK(mr_get_api(0, 0, 0, &api, &err) == MR_DEPENDENCY_MISSING && api == NULL);
  CHECK(mr_version() == 0 && mr_buffer_bytes(NULL) == 0 && mr_buffer_data(NULL) == NULL);
  CHECK(mrl_api() == NULL && strcmp(mrl_path(), "") == 0);
  mr_buffer_retain(NULL);
  mr_context_release(NULL);
}

static void before(void) {
  check_closed();
  CHECK(strcmp(mr_status_name(MR_NO_DRIVER), "MR_NO_DRIVER") == 0);
  CHECK(strcmp(mr_status_name(12345), "MR_STATUS_UNKNOWN") == 0);
  CHECK(mr_status_text(MR_OK) != NULL);
  mrl_close();
  mrl_close();
  check_closed();
}

/* `other` is a shared library that is not millrace. */
static void absent(const char* other) {
  CHECK(mrl_open("/nonexistent/libmillrace.so.0", &err) == MR_DEPENDENCY_MISSING);
  CHECK(err.code == MR_DEPENDENCY_MISSING && says("/nonexistent/libmillrace.so.0"));
  CHECK(mrl_open("/nonexistent/libmillrace.so.0", NULL) == MR_DEPENDENCY_MISSING);
  CHECK(mrl_open(other, &err) == MR_DEPENDENCY_MISSING && says("mr_get_api"));
  CHECK(setenv("MILLRACE_LIBRARY", "/nonexistent/by_environment.so", 1) == 0);
  CHECK(mrl_open(NULL, &err) == MR_DEPENDENCY_MISSING && says("by_environment.so"));
  check_closed();
}

/* The current directory holds a libmillrace.so.0, the program's does not: nothing is found. */
static void current_directory(void) {
  CHECK(access("libmillrace.so.0", R_OK) == 0);
  CHECK(unsetenv("MILLRACE_LIBRARY") == 0);
  CHECK(mrl_open(NULL, &err) == MR_DEPENDENCY_MISSING && says("libmillrace.so.0"));
  CHECK(setenv("MILLRACE_LIBRARY", "", 1) == 0); /* empty is as if unset */
  CHECK(mrl_open(NULL, &err) == MR_DEPENDENCY_MISSING && says("libmillrace.so.0"));
  CHECK(mrl_open("libmillrace.so.0", &err) == MR_DEPENDENCY_MISSING);
  check_closed();
}

static void check_works(void) {
  float values[4] = {2.0f, 2.0f, 2.0f, 2.0f};
  const int64_t shape[2] = {1, 4};
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  mr_rmsnorm_args args = MR_RMSNORM_ARGS_INIT;
  mr_context* context = NULL;
  mr_stream* stream = NULL;
  config.backend = MR_BACKEND_HOST;
  CHECK(mr_context_create(&config, &context, &err) == MR_OK);
  CHECK(mr_stream_create(context, NULL, &stream, &err) == MR_OK);
  CHECK(mr_tensor_pack(values, MR_F32, 2, shape, &args.input, &err) == MR_OK);
  args.output = args.input;
  CHECK(mr_rmsnorm(stream, &args, &err) == MR_OK);
  CHECK(mr_stream_synchronize(stream, &err) == MR_OK);
  CHECK(values[0] > 0.999f && values[0] < 1.001f);
  mrl_close(); /* late releases still reach the library */
  mr_stream_release(stream);
  mr_context_release(context);
  check_closed();
}

static void open_it(const char* file, const char* other) {
  CHECK(mrl_open(file, &err) == MR_OK);
  CHECK(mrl_api() != NULL && mrl_api()->struct_size == sizeof(mr_api));
  CHECK(mr_abi_version() == MR_ABI_MAJOR * 65536u + MR_ABI_MINOR);
  if (file != NULL) CHECK(strcmp(mrl_path(), file) == 0);
  CHECK(mrl_open(file, &err) == MR_OK);
  if (other != NULL) {
    CHECK(mrl_open(other, &err) == MR_INVALID_ARGUMENT);
    CHECK(says(mrl_path()));
    CHECK(mr_version() != 7); /* still the first one */
  }
  check_works();
  CHECK(mrl_open(file, &err) == MR_OK); /* and once more after a close */
  check_works();
}

static void older(const char* file) {
  mr_rmsnorm_args args = MR_RMSNORM_ARGS_INIT;
  CHECK(mrl_open(file, &err) == MR_OK);
  CHECK(mr_version() == 7 && strcmp(mr_status_name(MR_NOT_READY), "older") == 0);
  CHECK(mr_status_text(MR_OK) != NULL);
  CHECK(mrl_api()->rmsnorm == NULL && mrl_api()->version != NULL);
  CHECK(mr_rmsnorm(NULL, &args, &err) == MR_UNSUPPORTED && says("mr_rmsnorm"));
  CHECK(mr_buffer_data(NULL) == NULL && mr_buffer_bytes(NULL) == 0);
  mr_context_retain(NULL);
  mr_context_release(NULL);
}

static void mismatch(const char* file) {
  CHECK(mrl_open(file, &err) == MR_VERSION_MISMATCH);
  CHECK(says("41.0") && says(file));
  CHECK(mrl_open(file, NULL) == MR_VERSION_MISMATCH);
  check_closed();
}

int main(int argc, char** argv) {
  const char* const scenario = argc > 1 ? argv[1] : "";
  const char* const file = argc > 2 ? argv[2] : NULL;
  const char* const other = argc > 3 ? argv[3] : NULL;
  if (strcmp(scenario, "before") == 0)
    before();
  else if (strcmp(scenario, "absent") == 0)
    absent(file);
  else if (strcmp(scenario, "current_directory") == 0)
    current_directory();
  else if (strcmp(scenario, "open") == 0)
    open_it(file, other);
  else if (strcmp(scenario, "older") == 0)
    older(file);
  else if (strcmp(scenario, "mismatch") == 0)
    mismatch(file);
  else {
    printf("unknown scenario \"%s\"\n", scenario);
    return 2;
  }
  return failures == 0 ? 0 : 1;
}
