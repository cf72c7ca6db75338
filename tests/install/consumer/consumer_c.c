/* Adds two vectors on the host. With CONSUMER_OPENS the library is opened, not linked. */
#ifdef CONSUMER_OPENS
#include "millrace_loader.h"
#else
#include <millrace/millrace.h>
#endif
#include <stdio.h>

static mr_error err;

static int failed(const char* what) {
  printf("%s: %s: %s\n", what, mr_status_name(err.code), err.text);
  return 1;
}

int main(void) {
  float a[3] = {1.0f, 2.0f, 3.0f};
  const int64_t shape[1] = {3};
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  mr_add_args args = MR_ADD_ARGS_INIT;
  mr_context* context = NULL;
  mr_stream* stream = NULL;
#ifdef CONSUMER_OPENS
  if (mrl_open(NULL, &err) != MR_OK) return failed("mrl_open");
#endif
  config.backend = MR_BACKEND_HOST;
  if (mr_context_create(&config, &context, &err) != MR_OK) return failed("mr_context_create");
  if (mr_stream_create(context, NULL, &stream, &err) != MR_OK) return failed("mr_stream_create");
  if (mr_tensor_pack(a, MR_F32, 1, shape, &args.a, &err) != MR_OK) return failed("mr_tensor_pack");
  args.b = args.a;
  args.output = args.a;
  if (mr_add(stream, &args, &err) != MR_OK) return failed("mr_add");
  if (mr_stream_synchronize(stream, &err) != MR_OK) return failed("mr_stream_synchronize");
  mr_stream_release(stream);
  mr_context_release(context);
  if (a[0] != 2.0f || a[1] != 4.0f || a[2] != 6.0f) {
    printf("the sum is %g %g %g\n", (double)a[0], (double)a[1], (double)a[2]);
    return 1;
  }
  printf("C: version %u\n", (unsigned)mr_version());
  return 0;
}
