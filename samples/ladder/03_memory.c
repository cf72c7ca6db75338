/* Watches memory. Introduces mr_memory_get_stats, tags, limits and what the words mean. */
#include <string.h>

#include "ladder.h"

static void show(const char* when, mr_memory* memory) {
  mr_error error;
  mr_memory_stats stats;
  memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  check(mr_memory_get_stats(memory, &stats, &error), &error);
  printf("%-26s %6.1f allocated (peak %6.1f), %6.1f weights, %6.1f reserved MiB\n", when,
         (double)stats.allocated.current / (1 << 20), (double)stats.allocated.peak / (1 << 20),
         (double)stats.tags[MR_TAG_WEIGHTS].current / (1 << 20),
         (double)stats.reserved.current / (1 << 20));
}

int main(void) {
  mr_error error;
  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  mr_context* context = NULL;
  mr_stream* stream = NULL;
  mr_buffer* weights = NULL;
  mr_buffer* rest = NULL;
  check(mr_context_create(&config, &context, &error), &error);
  mr_memory* memory = mr_context_memory(context); /* borrowed */
  show("context", memory);
  check(mr_stream_create(context, NULL, &stream, &error), &error);
  show("stream (its scratch)", memory);
  check(mr_buffer_create(stream, 64u << 20, MR_MEMORY_DEVICE, MR_TAG_WEIGHTS, &weights, &error),
        &error);
  check(mr_buffer_create(stream, 32u << 20, MR_MEMORY_DEVICE, MR_TAG_KV, &rest, &error), &error);
  show("64 MiB weights, 32 MiB KV", memory);
  mr_buffer_release(weights);
  show("weights released", memory); /* allocated falls, reserved stays: the cache */

  /* A limit is exact, and a refused call changes nothing and says why. */
  check(mr_memory_set_limit(memory, 128u << 20, &error), &error);
  if (mr_buffer_create(stream, 256u << 20, MR_MEMORY_DEVICE, MR_TAG_OTHER, &weights, &error) !=
      MR_OK) {
    printf("as it should: %s\n", error.text);
  }
  mr_buffer_release(rest);
  check(mr_memory_trim(memory, 0, NULL, &error), &error);
  show("all released, trimmed", memory);
  mr_stream_release(stream);
  mr_context_release(context);
  return 0;
}
