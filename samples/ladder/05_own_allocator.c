/* Lets the library take all of its memory from the application. Introduces the allocator callbacks.
 */
#include "ladder.h"

typedef struct Books {
  uint64_t live;
  uint64_t most;
  uint32_t calls;
} Books;

static void* take(void* user, uint64_t bytes, uint64_t alignment, uint32_t kind, int32_t ordinal,
                  void* native_stream) {
  Books* books = (Books*)user;
  (void)kind;
  (void)ordinal;
  (void)native_stream;
  books->calls += 1;
  books->live += bytes;
  if (books->live > books->most) books->most = books->live;
  return aligned_alloc((size_t)alignment,
                       (size_t)((bytes + alignment - 1) / alignment * alignment));
}

static void give_back(void* user, void* address, uint64_t bytes, uint32_t kind, int32_t ordinal,
                      void* native_stream) {
  Books* books = (Books*)user;
  (void)kind;
  (void)ordinal;
  (void)native_stream;
  books->live -= bytes;
  free(address);
}

int main(void) {
  mr_error error;
  Books books = {0, 0, 0};
  mr_memory_config memory_config = MR_MEMORY_CONFIG_INIT;
  mr_memory* memory = NULL;
  mr_context* context = NULL;
  mr_stream* stream = NULL;
  mr_buffer* buffer = NULL;

  memory_config.backend = MR_BACKEND_HOST;
  memory_config.allocate = take;
  memory_config.deallocate = give_back;
  memory_config.user = &books;
  check(mr_memory_create(&memory_config, &memory, &error), &error);

  mr_context_config config = MR_CONTEXT_CONFIG_INIT;
  config.backend = MR_BACKEND_HOST;
  config.memory = memory;
  check(mr_context_create(&config, &context, &error), &error);
  check(mr_stream_create(context, NULL, &stream, &error), &error);
  check(mr_buffer_create(stream, 10u << 20, MR_MEMORY_DEVICE, MR_TAG_OTHER, &buffer, &error),
        &error);
  printf("%u allocations, %.1f MiB live\n", books.calls, (double)books.live / (1 << 20));

  mr_buffer_release(buffer);
  mr_stream_release(stream);
  mr_context_release(context);
  mr_memory_release(memory);
  printf("all released: %llu bytes live, %.1f MiB at the most\n", (unsigned long long)books.live,
         (double)books.most / (1 << 20));
  return books.live == 0 ? 0 : 1;
}
