/* Records a chain of operators once and replays it. Introduces mr_graph_begin, mr_graph_end and
 * mr_graph_launch, and rings: the host reads the result of one replay while the next one runs. */
#include "ladder.h"

int main(void) {
  enum { STEPS = 4, SLOTS = 2 };
  const int64_t shape[1] = {1};
  float state = 1.0f;
  mr_error error;
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  mr_context* context = NULL;
  mr_stream* stream = NULL;
  mr_buffer* buffer = NULL;
  mr_ring* ring = NULL;
  mr_graph* graphs[SLOTS] = {NULL, NULL};

  config.backend = MR_BACKEND_HOST;
  config.options =
      "host.streams=deferred"; /* a thread of its own, so that nothing here is for show */
  check(mr_context_create(&config, &context, &error), &error);
  check(mr_stream_create(context, NULL, &stream, &error), &error);
  check(mr_buffer_create(stream, sizeof state, MR_MEMORY_DEVICE, MR_TAG_OTHER, &buffer, &error),
        &error);
  check(mr_upload(stream, mr_buffer_data(buffer), &state, sizeof state, &error), &error);
  check(mr_ring_create(context, SLOTS, sizeof state, &ring, &error), &error);

  mr_add_args doubled = MR_ADD_ARGS_INIT; /* x = x + x */
  check(mr_tensor_pack(mr_buffer_data(buffer), MR_F32, 1, shape, &doubled.a, &error), &error);
  doubled.b = doubled.output = doubled.a;
  for (uint32_t slot = 0; slot < SLOTS; ++slot) { /* one graph for each slot of the ring */
    check(mr_graph_begin(stream, NULL, &error), &error);
    check(mr_add(stream, &doubled, &error), &error);
    check(mr_ring_push(ring, slot, stream, mr_buffer_data(buffer), sizeof state, &error), &error);
    check(mr_graph_end(stream, &graphs[slot], &error), &error);
  }

  check(mr_graph_launch(graphs[0], stream, &error), &error);
  for (uint32_t step = 0; step < STEPS; ++step) {
    if (step + 1 < STEPS) { /* the next step is under way before this one is read */
      check(mr_graph_launch(graphs[(step + 1) % SLOTS], stream, &error), &error);
    }
    const void* result = NULL;
    check(mr_ring_wait(ring, step % SLOTS, &result, &error), &error);
    printf("step %u: %g\n", step, (double)*(const float*)result);
  }
  for (uint32_t slot = 0; slot < SLOTS; ++slot) mr_graph_release(graphs[slot]);
  mr_ring_release(ring);
  mr_buffer_release(buffer);
  mr_stream_release(stream);
  mr_context_release(context);
  return 0;
}
