// What a plugin host does, for tests that are not linked with the library: open a file, take the
// table, and run a small operator on the host backend.
#pragma once

#include <dlfcn.h>
#include <millrace/millrace.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace plugin_host {

// The library under test; the build sets MILLRACE_LIBRARY for these tests.
inline std::string library_file() {
  const char* file = std::getenv("MILLRACE_LIBRARY");
  return file == nullptr ? "" : file;
}

// NULL, with the reason in *why, if the file is not a library of this ABI.
inline const mr_api* table_of(void* handle, std::string* why = nullptr) {
  void* symbol = handle == nullptr ? nullptr : dlsym(handle, "mr_get_api");
  if (symbol == nullptr) {
    const char* text = dlerror();
    if (why != nullptr) *why = text == nullptr ? "no handle" : text;
    return nullptr;
  }
  mr_get_api_fn get_api;
  std::memcpy(&get_api, &symbol, sizeof get_api);
  const mr_api* api = nullptr;
  mr_error err;
  if (get_api(MR_ABI_MAJOR, MR_ABI_MAJOR, MR_ABI_MINOR, &api, &err) == MR_OK) return api;
  if (why != nullptr) *why = err.text;
  return nullptr;
}

// Normalises {x, x, x, x} on a fresh host context; "" if all went well and the result is right (the
// sign of x), else what went wrong. `context` may be NULL: then one is made and released.
inline std::string run_once(const mr_api& api, float x, mr_context* context = nullptr) {
  mr_error err;
  const auto failed = [&](const char* what) { return std::string(what) + ": " + err.text; };
  mr_context* own = nullptr;
  if (context == nullptr) {
    mr_context_config config = MR_CONTEXT_CONFIG_INIT;
    config.backend = MR_BACKEND_HOST;
    if (api.context_create(&config, &own, &err) != MR_OK) return failed("context_create");
    context = own;
  }
  std::string result;
  mr_stream* stream = nullptr;
  mr_buffer* buffer = nullptr;
  float values[4] = {x, x, x, x};
  const int64_t shape[2] = {1, 4};
  mr_rmsnorm_args args = MR_RMSNORM_ARGS_INIT;
  if (api.stream_create(context, nullptr, &stream, &err) != MR_OK) {
    result = failed("stream_create");
  } else if (api.buffer_create(stream, sizeof values, MR_MEMORY_DEVICE, MR_TAG_OTHER, &buffer,
                               &err) != MR_OK) {
    result = failed("buffer_create");
  } else if (api.upload(stream, api.buffer_data(buffer), values, sizeof values, &err) != MR_OK) {
    result = failed("upload");
  } else if (api.tensor_pack(api.buffer_data(buffer), MR_F32, 2, shape, &args.input, &err) !=
             MR_OK) {
    result = failed("tensor_pack");
  } else if (args.output = args.input, api.rmsnorm(stream, &args, &err) != MR_OK) {
    result = failed("rmsnorm");
  } else if (api.download(stream, values, api.buffer_data(buffer), sizeof values, &err) != MR_OK) {
    result = failed("download");
  } else if (const float sign = x < 0 ? -1.0f : 1.0f;
             values[3] - sign > 1e-5f || sign - values[3] > 1e-5f) {
    result = "the result is " + std::to_string(values[3]);
  }
  api.buffer_release(buffer);
  api.stream_release(stream);
  api.context_release(own);
  return result;
}

}  // namespace plugin_host
