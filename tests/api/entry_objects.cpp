// Memory, contexts and streams.
#include "api/entry_parts.h"

namespace test {

void add_memory(std::vector<EntryPoint>& all) {
  all.push_back({"memory_create", {}, [](Scene& s, const Handles&, mr_error* e) {
                   mr_memory_config config = MR_MEMORY_CONFIG_INIT;
                   config.backend = MR_BACKEND_HOST;
                   return mr_memory_create(&config,
                                           reinterpret_cast<mr_memory**>(&s.made.at[kMemory]), e);
                 }});
  all.push_back({"memory_retain",
                 {{kMemory, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_memory_retain(h.memory());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kMemory] = s.handles.memory(); },
                 false});
  all.push_back({"memory_release",
                 {{kMemory, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_memory_release(h.memory());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_memory_retain(s.handles.memory()); },
                 false});
  all.push_back({"memory_allocate",
                 {{kMemory, "memory"}, {kStream, "stream", true}},
                 [](Scene& s, const Handles& h, mr_error* e) {
                   return mr_memory_allocate(h.memory(), h.stream(), 40 * kMiB, 0, 0,
                                             &s.made_address, e);
                 }});
  all.push_back({"memory_free",
                 {{kMemory, "memory"}, {kStream, "stream", true}},
                 [](Scene& s, const Handles& h, mr_error* e) {
                   const mr_status status = mr_memory_free(h.memory(), h.stream(), s.address, e);
                   if (status == MR_OK) s.address = nullptr;
                   return status;
                 }});
  all.push_back({"memory_use",
                 {{kMemory, "memory"}, {kStream, "stream"}},
                 [](Scene& s, const Handles& h, mr_error* e) {
                   return mr_memory_use(h.memory(), h.stream(), s.address, e);
                 }});
  all.push_back({"memory_trim", {{kMemory, "memory"}}, [](Scene&, const Handles& h, mr_error* e) {
                   return mr_memory_trim(h.memory(), 0, nullptr, e);
                 }});
  all.push_back(
      {"memory_set_limit", {{kMemory, "memory"}}, [](Scene&, const Handles& h, mr_error* e) {
         return mr_memory_set_limit(h.memory(), 0, e);
       }});
  all.push_back(
      {"memory_get_stats", {{kMemory, "memory"}}, [](Scene&, const Handles& h, mr_error* e) {
         mr_memory_stats out = MR_MEMORY_STATS_INIT;
         return mr_memory_get_stats(h.memory(), &out, e);
       }});
  all.push_back(
      {"memory_reset_peaks", {{kMemory, "memory"}}, [](Scene&, const Handles& h, mr_error* e) {
         return mr_memory_reset_peaks(h.memory(), e);
       }});
  all.push_back(
      {"buffer_create", {{kStream, "stream"}}, [](Scene& s, const Handles& h, mr_error* e) {
         return mr_buffer_create(h.stream(), 40 * kMiB, MR_MEMORY_DEVICE, 0,
                                 reinterpret_cast<mr_buffer**>(&s.made.at[kBuffer]), e);
       }});
  all.push_back({"buffer_retain",
                 {{kBuffer, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_buffer_retain(h.buffer());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kBuffer] = s.handles.buffer(); },
                 false});
  all.push_back({"buffer_release",
                 {{kBuffer, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_buffer_release(h.buffer());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_buffer_retain(s.handles.buffer()); },
                 false});
  all.push_back({"buffer_data",
                 {{kBuffer, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   (void)mr_buffer_data(h.buffer());
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"buffer_bytes",
                 {{kBuffer, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   (void)mr_buffer_bytes(h.buffer());
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"buffer_use",
                 {{kBuffer, "buffer"}, {kStream, "stream"}},
                 [](Scene&, const Handles& h, mr_error* e) {
                   return mr_buffer_use(h.buffer(), h.stream(), e);
                 }});
}

void add_blocks(std::vector<EntryPoint>& all) {
  all.push_back({"memory_allocate_block",
                 {{kMemory, "memory"}, {kStream, "stream", true}},
                 [](Scene& s, const Handles& h, mr_error* e) {
                   mr_block block = 0;
                   return mr_memory_allocate_block(h.memory(), h.stream(), 40 * kMiB, 0, 0, &block,
                                                   &s.made_address, e);
                 }});
  // Of no block, since a scene keeps none; what a name does: memory_api_test.cpp.
  all.push_back({"memory_free_block",
                 {{kMemory, "memory"}, {kStream, "stream", true}},
                 [](Scene&, const Handles& h, mr_error* e) {
                   return mr_memory_free_block(h.memory(), h.stream(), 0, e);
                 }});
  all.push_back(
      {"memory_summary", {{kMemory, "memory"}}, [](Scene&, const Handles& h, mr_error* e) {
         char text[4096];
         return mr_memory_summary(h.memory(), text, sizeof text, nullptr, e);
       }});
  all.push_back({"memory_visit", {{kMemory, "memory"}}, [](Scene&, const Handles& h, mr_error* e) {
                   return mr_memory_visit(
                       h.memory(), [](void*, const mr_memory_block*) {}, nullptr, e);
                 }});
}

void add_context(std::vector<EntryPoint>& all) {
  all.push_back({"context_create",
                 {{kMemory, "config.memory", true}},
                 [](Scene& s, const Handles& h, mr_error* e) {
                   mr_context_config config = MR_CONTEXT_CONFIG_INIT;
                   config.backend = MR_BACKEND_HOST;
                   config.options = "host.blas=off;host.threads=1";
                   config.memory = h.memory();
                   return mr_context_create(
                       &config, reinterpret_cast<mr_context**>(&s.made.at[kContext]), e);
                 }});
  all.push_back({"context_retain",
                 {{kContext, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_context_retain(h.context());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kContext] = s.handles.context(); },
                 false});
  all.push_back({"context_release",
                 {{kContext, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_context_release(h.context());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_context_retain(s.handles.context()); },
                 false});
  all.push_back(
      {"context_health", {{kContext, "context"}}, [](Scene&, const Handles& h, mr_error* e) {
         return mr_context_health(h.context(), e);
       }});
  all.push_back(
      {"context_device", {{kContext, "context"}}, [](Scene&, const Handles& h, mr_error* e) {
         mr_device_info out = MR_DEVICE_INFO_INIT;
         return mr_context_device(h.context(), &out, e);
       }});
  all.push_back({"context_memory",
                 {{kContext, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   (void)mr_context_memory(h.context());
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back(
      {"context_set_option", {{kContext, "context"}}, [](Scene&, const Handles& h, mr_error* e) {
         return mr_context_set_option(h.context(), "force_kernel", "", e);
       }});
  all.push_back(
      {"context_get_option", {{kContext, "context"}}, [](Scene&, const Handles& h, mr_error* e) {
         char text[64];
         return mr_context_get_option(h.context(), "determinism", text, sizeof text, nullptr, e);
       }});
}

void add_stream(std::vector<EntryPoint>& all) {
  all.push_back(
      {"stream_create", {{kContext, "context"}}, [](Scene& s, const Handles& h, mr_error* e) {
         mr_stream_config config = MR_STREAM_CONFIG_INIT;
         config.workspace_bytes = 40 * kMiB;
         return mr_stream_create(h.context(), &config,
                                 reinterpret_cast<mr_stream**>(&s.made.at[kStream]), e);
       }});
  all.push_back(
      {"stream_wrap", {{kContext, "context"}}, [](Scene& s, const Handles& h, mr_error* e) {
         mr_stream_config config = MR_STREAM_CONFIG_INIT;
         config.workspace_bytes = 40 * kMiB;
         return mr_stream_wrap(h.context(), mr_stream_native(s.handles.stream()), &config,
                               reinterpret_cast<mr_stream**>(&s.made.at[kStream]), e);
       }});
  all.push_back({"stream_retain",
                 {{kStream, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_stream_retain(h.stream());
                   return MR_OK;
                 },
                 [](Scene& s) { s.made.at[kStream] = s.handles.stream(); },
                 false});
  all.push_back({"stream_release",
                 {{kStream, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   mr_stream_release(h.stream());
                   return MR_OK;
                 },
                 [](Scene& s) { mr_stream_retain(s.handles.stream()); },
                 false});
  all.push_back({"stream_native",
                 {{kStream, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   (void)mr_stream_native(h.stream());
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"stream_context",
                 {{kStream, ""}},
                 [](Scene&, const Handles& h, mr_error*) {
                   (void)mr_stream_context(h.stream());
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"stream_query", {{kStream, "stream"}}, [](Scene&, const Handles& h, mr_error* e) {
                   return mr_stream_query(h.stream(), e);
                 }});
  all.push_back(
      {"stream_synchronize", {{kStream, "stream"}}, [](Scene&, const Handles& h, mr_error* e) {
         return mr_stream_synchronize(h.stream(), e);
       }});
  all.push_back(
      {"stream_set_workspace", {{kStream, "stream"}}, [](Scene&, const Handles& h, mr_error* e) {
         return mr_stream_set_workspace(h.stream(), nullptr, 0, e);
       }});
  all.push_back(
      {"stream_reserve_capture", {{kStream, "stream"}}, [](Scene&, const Handles& h, mr_error* e) {
         return mr_stream_reserve_capture(h.stream(), 3 * kMiB, e);
       }});
  all.push_back(
      {"stream_is_capturing", {{kStream, "stream"}}, [](Scene&, const Handles& h, mr_error* e) {
         int32_t out = 0;
         return mr_stream_is_capturing(h.stream(), &out, e);
       }});
  all.push_back({"copy", {{kStream, "stream"}}, [](Scene& s, const Handles& h, mr_error* e) {
                   return mr_copy(h.stream(), s.arena.floats[1], s.arena.floats[0], 64,
                                  MR_COPY_ON_DEVICE, e);
                 }});
  all.push_back({"fill", {{kStream, "stream"}}, [](Scene& s, const Handles& h, mr_error* e) {
                   return mr_fill(h.stream(), s.arena.floats[1], 9, 64, e);
                 }});
  all.push_back({"upload", {{kStream, "stream"}}, [](Scene& s, const Handles& h, mr_error* e) {
                   return mr_upload(h.stream(), s.arena.floats[1], s.arena.floats[0], 64, e);
                 }});
  all.push_back({"download", {{kStream, "stream"}}, [](Scene& s, const Handles& h, mr_error* e) {
                   return mr_download(h.stream(), s.arena.floats[1], s.arena.floats[0], 64, e);
                 }});
}

}  // namespace test
