/* Normalises two rows. Introduces contexts, streams, buffers, tensors and one operator: the
 * shortest program that does something. */
#include "ladder.h"

int main(void) {
  enum { ROWS = 2, WIDTH = 4 };
  const float x[ROWS][WIDTH] = {{1, 2, 3, 4}, {-2, 0, 0, 2}};
  float y[ROWS][WIDTH];
  const int64_t shape[2] = {ROWS, WIDTH};
  mr_error error;

  mr_context_config config = MR_CONTEXT_CONFIG_INIT; /* the best device */
  mr_context* context = NULL;
  mr_stream* stream = NULL;
  mr_buffer* buffer = NULL;
  check(mr_context_create(&config, &context, &error), &error);
  check(mr_stream_create(context, NULL, &stream, &error), &error);
  check(mr_buffer_create(stream, sizeof x, MR_MEMORY_DEVICE, MR_TAG_ACTIVATIONS, &buffer, &error),
        &error);
  check(mr_upload(stream, mr_buffer_data(buffer), x, sizeof x, &error), &error);

  mr_rmsnorm_args norm = MR_RMSNORM_ARGS_INIT; /* no residual, no weight */
  check(mr_tensor_pack(mr_buffer_data(buffer), MR_F32, 2, shape, &norm.input, &error), &error);
  norm.output = norm.input; /* in place */
  norm.epsilon = 1e-6f;
  check(mr_rmsnorm(stream, &norm, &error), &error);

  check(mr_download(stream, y, mr_buffer_data(buffer), sizeof y, &error), &error);
  for (int row = 0; row < ROWS; ++row) {
    for (int i = 0; i < WIDTH; ++i) printf("%8.4f", (double)y[row][i]);
    printf("\n");
  }
  mr_buffer_release(buffer); /* in any order */
  mr_stream_release(stream);
  mr_context_release(context);
  return 0;
}
