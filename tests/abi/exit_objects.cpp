// Case E07: objects that are alive when the process ends. Prints nothing and exits with 0.
//
//   exit_objects raw|owned return|exit|thread
//
// raw: static and thread-local pointers that nobody releases. owned: static and thread-local
// objects whose destructors release while the process is already ending.

#include <millrace/millrace.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

struct Objects {
  mr_context* context = nullptr;
  mr_stream* stream = nullptr;
  mr_event* event = nullptr;
  mr_graph* graph = nullptr;
  mr_buffer* buffer = nullptr;

  bool make(const char* options) {
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    config.options = options;
    if (mr_context_create(&config, &context, nullptr) != MR_OK) return false;
    if (mr_stream_create(context, nullptr, &stream, nullptr) != MR_OK) return false;
    if (mr_event_create(context, 0, &event, nullptr) != MR_OK) return false;
    if (mr_buffer_create(stream, 1 << 20, MR_MEMORY_DEVICE, MR_TAG_OTHER, &buffer, nullptr) !=
        MR_OK) {
      return false;
    }
    if (mr_graph_begin(stream, nullptr, nullptr) != MR_OK) return false;
    if (mr_fill(stream, mr_buffer_data(buffer), 1, 1 << 20, nullptr) != MR_OK) return false;
    if (mr_graph_end(stream, &graph, nullptr) != MR_OK) return false;
    // Work is queued when the process ends.
    return mr_graph_launch(graph, stream, nullptr) == MR_OK &&
           mr_event_record(event, stream, 0, nullptr) == MR_OK;
  }
  void release() {
    mr_graph_release(graph);
    mr_event_release(event);
    mr_context_release(context);
    mr_buffer_release(buffer);
    mr_stream_release(stream);
  }
};

struct Owned : Objects {
  ~Owned() { release(); }
};

Objects raw_static;
thread_local Objects raw_local;
Owned owned_static;
thread_local Owned owned_local;

constexpr const char* kNoThreads = "host.threads=1;host.blas=off";

bool owned = false;
const char* ending = "";

bool ends_by(const char* name) { return std::strcmp(ending, name) == 0; }

bool make_both() {
  Objects& in_static = owned ? owned_static : raw_static;
  Objects& in_local = owned ? owned_local : raw_local;
  const char* threads = ends_by("thread_last") ? kNoThreads : "host.streams=deferred";
  return (in_static.context != nullptr || in_static.make(threads)) && in_local.make(kNoThreads);
}

// A thread that outlives main's own and has a thread-local object itself.
void* last_thread(void*) {
  if (!make_both()) _exit(3);
  usleep(2000);
  if (ends_by("thread_exit")) std::exit(0);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  owned = std::strcmp(argv[1], "owned") == 0;
  ending = argv[2];
  if (!make_both()) return 3;
  if (ends_by("exit")) std::exit(0);
  if (ends_by("return")) return 0;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, last_thread, nullptr) != 0) return 4;
  pthread_detach(thread);
  pthread_exit(nullptr);
}
