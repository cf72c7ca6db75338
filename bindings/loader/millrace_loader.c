/* Written by bindings/generate.py from include/millrace and bindings/generator/millrace_loader.c.in.
 * See millrace_loader.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif

#include "millrace_loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MRL_SONAME "libmillrace.so.0"

/* The lowest minor that this loader accepts: while the major is 0 a minor may change layouts. */
#define MRL_MINOR_MIN (MR_ABI_MAJOR == 0u ? MR_ABI_MINOR : 0u)

/* Written under mrl_lock before mrl_current is published, and never again. */
static mr_api mrl_table;
static mr_get_api_fn mrl_get_api;
static char mrl_file[PATH_MAX];

static pthread_mutex_t mrl_lock = PTHREAD_MUTEX_INITIALIZER;
static const mr_api* mrl_current; /* what calls go through; NULL while closed */
static const mr_api* mrl_kept;    /* what releases go through; NULL until the first open */

/* ---- Errors ------------------------------------------------------------------------------------ */

static mr_status mrl_fail(mr_error* err, mr_status code, const char* text) {
  if (err == NULL) return code;
  memset(err, 0, sizeof *err);
  err->code = code;
  err->domain = MR_DOMAIN_MILLRACE;
  (void)snprintf(err->text, sizeof err->text, "%s", text);
  return code;
}

static mr_status mrl_refuse(const mr_api* api, const char* function, mr_error* err) {
  char text[496];
  if (api == NULL) {
    (void)snprintf(text, sizeof text, "%s: the millrace library is not open; call mrl_open() first",
                   function);
    return mrl_fail(err, MR_DEPENDENCY_MISSING, text);
  }
  (void)snprintf(text, sizeof text,
                 "%s: the millrace library that is open (ABI %u.%u) does not have this function",
                 function, (unsigned)api->abi_major, (unsigned)api->abi_minor);
  return mrl_fail(err, MR_UNSUPPORTED, text);
}

/* ---- Finding the library ----------------------------------------------------------------------- */

/* What was tried, for the text of a failure. */
typedef struct mrl_attempts {
  char text[496];
  size_t length;
} mrl_attempts;

static void mrl_note(mrl_attempts* attempts, const char* file, const char* reason) {
  const size_t room = sizeof attempts->text - attempts->length;
  const int n = snprintf(attempts->text + attempts->length, room, "%s%s: %s",
                         attempts->length == 0 ? "" : "; ", file, reason);
  if (n > 0) attempts->length += (size_t)n < room ? (size_t)n : room - 1;
}

static void* mrl_try(mrl_attempts* attempts, const char* file) {
  void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char* const reason = dlerror();
    mrl_note(attempts, file, reason == NULL ? "cannot be loaded" : reason);
  }
  return handle;
}

/* Writes the path of MRL_SONAME beside this module; 0 if there is no such file. */
static int mrl_beside(char* out, size_t capacity) {
  char module[PATH_MAX];
  Dl_info info;
  size_t length = 0;
  const char* slash;
  if (dladdr((const void*)&mrl_table, &info) != 0 && info.dli_fname != NULL &&
      info.dli_fname[0] == '/') {
    length = strlen(info.dli_fname);
    if (length >= sizeof module) return 0;
    memcpy(module, info.dli_fname, length);
  } else {
    const ssize_t n = readlink("/proc/self/exe", module, sizeof module - 1);
    if (n <= 0) return 0;
    length = (size_t)n;
  }
  module[length] = '\0';
  slash = strrchr(module, '/');
  if (slash == NULL) return 0;
  length = (size_t)(slash - module) + 1;
  if (length + sizeof MRL_SONAME > capacity) return 0;
  memcpy(out, module, length);
  memcpy(out + length, MRL_SONAME, sizeof MRL_SONAME);
  return access(out, F_OK) == 0;
}

static void* mrl_find(const char* path, mrl_attempts* attempts) {
  char beside[PATH_MAX];
  const char* named = path != NULL ? path : getenv("MILLRACE_LIBRARY");
  if (path != NULL || (named != NULL && named[0] != '\0')) return mrl_try(attempts, named);
  if (mrl_beside(beside, sizeof beside)) return mrl_try(attempts, beside);
  return mrl_try(attempts, MRL_SONAME);
}

/* ---- Opening ----------------------------------------------------------------------------------- */

/* Called with the lock held. Takes the table over, or checks that it is the one in use. */
static mr_status mrl_connect(mr_get_api_fn get_api, const mr_api* api, mr_error* err) {
  Dl_info info;
  size_t size = api->struct_size;
  if (mrl_kept != NULL) {
    char text[496];
    if (get_api == mrl_get_api) return MR_OK;
    (void)snprintf(text, sizeof text, "path: another millrace library is open already: %.400s",
                   mrl_file);
    return mrl_fail(err, MR_INVALID_ARGUMENT, text);
  }
  if (size > sizeof mrl_table) size = sizeof mrl_table;
  memcpy(&mrl_table, api, size);
  mrl_table.struct_size = (uint32_t)sizeof mrl_table;
  if (dladdr((const void*)api, &info) != 0 && info.dli_fname != NULL) {
    (void)snprintf(mrl_file, sizeof mrl_file, "%s", info.dli_fname);
  }
  mrl_get_api = get_api;
  __atomic_store_n(&mrl_kept, &mrl_table, __ATOMIC_RELEASE);
  return MR_OK;
}

/* Appends the library's file to a report that the library wrote. */
static void mrl_name_file(const void* symbol, mr_error* err) {
  Dl_info info;
  if (err == NULL || dladdr(symbol, &info) == 0 || info.dli_fname == NULL) return;
  {
    const size_t length = strlen(err->text);
    (void)snprintf(err->text + length, sizeof err->text - length, " (%s)", info.dli_fname);
  }
}

static mr_status mrl_open_handle(void* handle, mrl_attempts* attempts, mr_error* err) {
  const mr_api* api = NULL;
  mr_get_api_fn get_api = NULL;
  mr_status status;
  void* const symbol = dlsym(handle, "mr_get_api");
  if (symbol == NULL) {
    mrl_note(attempts, "mr_get_api", "not found in the file; it is not a millrace library");
    return mrl_fail(err, MR_DEPENDENCY_MISSING, attempts->text);
  }
  memcpy(&get_api, &symbol, sizeof get_api); /* ISO C has no cast from object to function pointer */
  status = get_api(MR_ABI_MAJOR, MR_ABI_MAJOR, MRL_MINOR_MIN, &api, err);
  if (status != MR_OK) {
    mrl_name_file(symbol, err);
    return status;
  }
  (void)pthread_mutex_lock(&mrl_lock);
  status = mrl_connect(get_api, api, err);
  if (status == MR_OK) __atomic_store_n(&mrl_current, &mrl_table, __ATOMIC_RELEASE);
  (void)pthread_mutex_unlock(&mrl_lock);
  return status;
}

mr_status mrl_open(const char* path, mr_error* err) {
  mrl_attempts attempts;
  mr_status status;
  void* handle;
  memset(&attempts, 0, sizeof attempts);
  handle = mrl_find(path, &attempts);
  if (handle == NULL) return mrl_fail(err, MR_DEPENDENCY_MISSING, attempts.text);
  status = mrl_open_handle(handle, &attempts, err);
  /* On success the reference is kept for good, so that late releases find the code. */
  if (status != MR_OK) (void)dlclose(handle);
  return status;
}

void mrl_close(void) { __atomic_store_n(&mrl_current, NULL, __ATOMIC_RELEASE); }

const mr_api* mrl_api(void) { return __atomic_load_n(&mrl_current, __ATOMIC_ACQUIRE); }

static const mr_api* mrl_late(void) { return __atomic_load_n(&mrl_kept, __ATOMIC_ACQUIRE); }

const char* mrl_path(void) { return mrl_api() == NULL ? "" : mrl_file; }

/* ---- The functions ----------------------------------------------------------------------------- */

mr_status mr_get_api(uint32_t major_min, uint32_t major_max, uint32_t minor_min, const mr_api** out,
                     mr_error* err) {
  if (mrl_api() == NULL) return mrl_refuse(NULL, "mr_get_api", err);
  return mrl_get_api(major_min, major_max, minor_min, out, err);
}

/* Texts that must not be NULL even while no library is open. */
const char* mr_status_name(mr_status status) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->status_name != NULL) return api->status_name(status);
  switch (status) {
    case MR_OK: return "MR_OK";
    case MR_INVALID_ARGUMENT: return "MR_INVALID_ARGUMENT";
    case MR_UNSUPPORTED: return "MR_UNSUPPORTED";
    case MR_MISALIGNED: return "MR_MISALIGNED";
    case MR_WORKSPACE_TOO_SMALL: return "MR_WORKSPACE_TOO_SMALL";
    case MR_NOT_PREPARED: return "MR_NOT_PREPARED";
    case MR_CAPTURE_VIOLATION: return "MR_CAPTURE_VIOLATION";
    case MR_VERSION_MISMATCH: return "MR_VERSION_MISMATCH";
    case MR_NOT_READY: return "MR_NOT_READY";
    case MR_OUT_OF_HOST_MEMORY: return "MR_OUT_OF_HOST_MEMORY";
    case MR_OUT_OF_DEVICE_MEMORY: return "MR_OUT_OF_DEVICE_MEMORY";
    case MR_NO_DRIVER: return "MR_NO_DRIVER";
    case MR_DRIVER_TOO_OLD: return "MR_DRIVER_TOO_OLD";
    case MR_NO_DEVICE: return "MR_NO_DEVICE";
    case MR_NO_KERNEL_IMAGE: return "MR_NO_KERNEL_IMAGE";
    case MR_DEPENDENCY_MISSING: return "MR_DEPENDENCY_MISSING";
    case MR_DEVICE_ERROR: return "MR_DEVICE_ERROR";
    case MR_DEVICE_LOST: return "MR_DEVICE_LOST";
    case MR_FORKED: return "MR_FORKED";
    case MR_INTERNAL: return "MR_INTERNAL";
    default: return "MR_STATUS_UNKNOWN";
  }
}

const char* mr_status_text(mr_status status) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->status_text != NULL) return api->status_text(status);
  return "the millrace library is not open";
}

uint32_t mr_version(void) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->version == NULL) return 0;
  return api->version();
}

uint32_t mr_abi_version(void) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->abi_version == NULL) return 0;
  return api->abi_version();
}

mr_status mr_tensor_pack(void* data, mr_dtype dtype, int32_t rank, const int64_t* shape,
                         mr_tensor* out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->tensor_pack == NULL) {
    return mrl_refuse(api, "mr_tensor_pack", err);
  }
  return api->tensor_pack(data, dtype, rank, shape, out, err);
}

mr_status mr_tensor_from_dlpack(const void* dl_tensor, uint64_t flags, mr_tensor* out,
                                int32_t* out_device_type, int32_t* out_device_id, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->tensor_from_dlpack == NULL) {
    return mrl_refuse(api, "mr_tensor_from_dlpack", err);
  }
  return api->tensor_from_dlpack(dl_tensor, flags, out, out_device_type, out_device_id, err);
}

mr_status mr_tensor_import_dlpack(void* dl_managed, mr_tensor* out, int32_t* out_device_type,
                                  int32_t* out_device_id, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->tensor_import_dlpack == NULL) {
    return mrl_refuse(api, "mr_tensor_import_dlpack", err);
  }
  return api->tensor_import_dlpack(dl_managed, out, out_device_type, out_device_id, err);
}

void mr_dlpack_release(void* dl_managed) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->dlpack_release != NULL) api->dlpack_release(dl_managed);
}

mr_status mr_tensor_to_dlpack(const mr_tensor* tensor, int32_t device_type, int32_t device_id,
                              void* out_dl_tensor, int64_t* shape, int64_t* strides,
                              mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->tensor_to_dlpack == NULL) {
    return mrl_refuse(api, "mr_tensor_to_dlpack", err);
  }
  return api->tensor_to_dlpack(tensor, device_type, device_id, out_dl_tensor, shape, strides, err);
}

mr_status mr_tensor_export_dlpack(const mr_tensor* tensor, mr_buffer* buffer, void** out_dl_managed,
                                  mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->tensor_export_dlpack == NULL) {
    return mrl_refuse(api, "mr_tensor_export_dlpack", err);
  }
  return api->tensor_export_dlpack(tensor, buffer, out_dl_managed, err);
}

mr_status mr_probe(mr_probe_info* out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->probe == NULL) {
    return mrl_refuse(api, "mr_probe", err);
  }
  return api->probe(out, err);
}

mr_status mr_device_query(uint32_t index, mr_device_info* out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->device_query == NULL) {
    return mrl_refuse(api, "mr_device_query", err);
  }
  return api->device_query(index, out, err);
}

mr_status mr_dependency(const char* name, char* out, uint64_t capacity, uint64_t* out_length,
                        mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->dependency == NULL) {
    return mrl_refuse(api, "mr_dependency", err);
  }
  return api->dependency(name, out, capacity, out_length, err);
}

mr_status mr_memory_create(const mr_memory_config* config, mr_memory** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_create == NULL) {
    return mrl_refuse(api, "mr_memory_create", err);
  }
  return api->memory_create(config, out, err);
}

void mr_memory_retain(mr_memory* memory) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->memory_retain != NULL) api->memory_retain(memory);
}

void mr_memory_release(mr_memory* memory) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->memory_release != NULL) api->memory_release(memory);
}

mr_status mr_memory_allocate(mr_memory* memory, mr_stream* stream, uint64_t bytes,
                             uint64_t alignment, uint32_t tag, void** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_allocate == NULL) {
    return mrl_refuse(api, "mr_memory_allocate", err);
  }
  return api->memory_allocate(memory, stream, bytes, alignment, tag, out, err);
}

mr_status mr_memory_free(mr_memory* memory, mr_stream* stream, void* address, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_free == NULL) {
    return mrl_refuse(api, "mr_memory_free", err);
  }
  return api->memory_free(memory, stream, address, err);
}

mr_status mr_memory_use(mr_memory* memory, mr_stream* stream, void* address, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_use == NULL) {
    return mrl_refuse(api, "mr_memory_use", err);
  }
  return api->memory_use(memory, stream, address, err);
}

mr_status mr_memory_trim(mr_memory* memory, uint64_t target_bytes, uint64_t* out_reserved,
                         mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_trim == NULL) {
    return mrl_refuse(api, "mr_memory_trim", err);
  }
  return api->memory_trim(memory, target_bytes, out_reserved, err);
}

mr_status mr_memory_set_limit(mr_memory* memory, uint64_t limit_bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_set_limit == NULL) {
    return mrl_refuse(api, "mr_memory_set_limit", err);
  }
  return api->memory_set_limit(memory, limit_bytes, err);
}

mr_status mr_memory_get_stats(mr_memory* memory, mr_memory_stats* out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_get_stats == NULL) {
    return mrl_refuse(api, "mr_memory_get_stats", err);
  }
  return api->memory_get_stats(memory, out, err);
}

mr_status mr_memory_reset_peaks(mr_memory* memory, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_reset_peaks == NULL) {
    return mrl_refuse(api, "mr_memory_reset_peaks", err);
  }
  return api->memory_reset_peaks(memory, err);
}

mr_status mr_buffer_create(mr_stream* stream, uint64_t bytes, uint32_t kind, uint32_t tag,
                           mr_buffer** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->buffer_create == NULL) {
    return mrl_refuse(api, "mr_buffer_create", err);
  }
  return api->buffer_create(stream, bytes, kind, tag, out, err);
}

void mr_buffer_retain(mr_buffer* buffer) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->buffer_retain != NULL) api->buffer_retain(buffer);
}

void mr_buffer_release(mr_buffer* buffer) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->buffer_release != NULL) api->buffer_release(buffer);
}

void* mr_buffer_data(mr_buffer* buffer) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->buffer_data == NULL) return NULL;
  return api->buffer_data(buffer);
}

uint64_t mr_buffer_bytes(mr_buffer* buffer) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->buffer_bytes == NULL) return 0;
  return api->buffer_bytes(buffer);
}

mr_status mr_buffer_use(mr_buffer* buffer, mr_stream* stream, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->buffer_use == NULL) {
    return mrl_refuse(api, "mr_buffer_use", err);
  }
  return api->buffer_use(buffer, stream, err);
}

mr_status mr_context_create(const mr_context_config* config, mr_context** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->context_create == NULL) {
    return mrl_refuse(api, "mr_context_create", err);
  }
  return api->context_create(config, out, err);
}

void mr_context_retain(mr_context* context) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->context_retain != NULL) api->context_retain(context);
}

void mr_context_release(mr_context* context) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->context_release != NULL) api->context_release(context);
}

mr_status mr_context_health(mr_context* context, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->context_health == NULL) {
    return mrl_refuse(api, "mr_context_health", err);
  }
  return api->context_health(context, err);
}

mr_status mr_context_device(mr_context* context, mr_device_info* out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->context_device == NULL) {
    return mrl_refuse(api, "mr_context_device", err);
  }
  return api->context_device(context, out, err);
}

mr_memory* mr_context_memory(mr_context* context) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->context_memory == NULL) return NULL;
  return api->context_memory(context);
}

mr_status mr_context_set_option(mr_context* context, const char* name, const char* value,
                                mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->context_set_option == NULL) {
    return mrl_refuse(api, "mr_context_set_option", err);
  }
  return api->context_set_option(context, name, value, err);
}

mr_status mr_context_get_option(mr_context* context, const char* name, char* out, uint64_t capacity,
                                uint64_t* out_length, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->context_get_option == NULL) {
    return mrl_refuse(api, "mr_context_get_option", err);
  }
  return api->context_get_option(context, name, out, capacity, out_length, err);
}

mr_status mr_stream_create(mr_context* context, const mr_stream_config* config, mr_stream** out,
                           mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_create == NULL) {
    return mrl_refuse(api, "mr_stream_create", err);
  }
  return api->stream_create(context, config, out, err);
}

mr_status mr_stream_wrap(mr_context* context, void* native, const mr_stream_config* config,
                         mr_stream** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_wrap == NULL) {
    return mrl_refuse(api, "mr_stream_wrap", err);
  }
  return api->stream_wrap(context, native, config, out, err);
}

void mr_stream_retain(mr_stream* stream) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->stream_retain != NULL) api->stream_retain(stream);
}

void mr_stream_release(mr_stream* stream) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->stream_release != NULL) api->stream_release(stream);
}

void* mr_stream_native(mr_stream* stream) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_native == NULL) return NULL;
  return api->stream_native(stream);
}

mr_context* mr_stream_context(mr_stream* stream) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_context == NULL) return NULL;
  return api->stream_context(stream);
}

mr_status mr_stream_query(mr_stream* stream, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_query == NULL) {
    return mrl_refuse(api, "mr_stream_query", err);
  }
  return api->stream_query(stream, err);
}

mr_status mr_stream_synchronize(mr_stream* stream, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_synchronize == NULL) {
    return mrl_refuse(api, "mr_stream_synchronize", err);
  }
  return api->stream_synchronize(stream, err);
}

mr_status mr_stream_set_workspace(mr_stream* stream, void* address, uint64_t bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_set_workspace == NULL) {
    return mrl_refuse(api, "mr_stream_set_workspace", err);
  }
  return api->stream_set_workspace(stream, address, bytes, err);
}

mr_status mr_stream_reserve_capture(mr_stream* stream, uint64_t bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_reserve_capture == NULL) {
    return mrl_refuse(api, "mr_stream_reserve_capture", err);
  }
  return api->stream_reserve_capture(stream, bytes, err);
}

mr_status mr_stream_is_capturing(mr_stream* stream, int32_t* out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_is_capturing == NULL) {
    return mrl_refuse(api, "mr_stream_is_capturing", err);
  }
  return api->stream_is_capturing(stream, out, err);
}

mr_status mr_copy(mr_stream* stream, void* to, const void* from, uint64_t bytes, uint32_t direction,
                  mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->copy == NULL) {
    return mrl_refuse(api, "mr_copy", err);
  }
  return api->copy(stream, to, from, bytes, direction, err);
}

mr_status mr_fill(mr_stream* stream, void* to, uint32_t value, uint64_t bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->fill == NULL) {
    return mrl_refuse(api, "mr_fill", err);
  }
  return api->fill(stream, to, value, bytes, err);
}

mr_status mr_upload(mr_stream* stream, void* to_device, const void* from_host, uint64_t bytes,
                    mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->upload == NULL) {
    return mrl_refuse(api, "mr_upload", err);
  }
  return api->upload(stream, to_device, from_host, bytes, err);
}

mr_status mr_download(mr_stream* stream, void* to_host, const void* from_device, uint64_t bytes,
                      mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->download == NULL) {
    return mrl_refuse(api, "mr_download", err);
  }
  return api->download(stream, to_host, from_device, bytes, err);
}

mr_status mr_event_create(mr_context* context, uint32_t flags, mr_event** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->event_create == NULL) {
    return mrl_refuse(api, "mr_event_create", err);
  }
  return api->event_create(context, flags, out, err);
}

mr_status mr_event_wrap(mr_context* context, void* native, mr_event** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->event_wrap == NULL) {
    return mrl_refuse(api, "mr_event_wrap", err);
  }
  return api->event_wrap(context, native, out, err);
}

void mr_event_retain(mr_event* event) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->event_retain != NULL) api->event_retain(event);
}

void mr_event_release(mr_event* event) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->event_release != NULL) api->event_release(event);
}

void* mr_event_native(mr_event* event) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->event_native == NULL) return NULL;
  return api->event_native(event);
}

mr_status mr_event_record(mr_event* event, mr_stream* stream, uint32_t flags, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->event_record == NULL) {
    return mrl_refuse(api, "mr_event_record", err);
  }
  return api->event_record(event, stream, flags, err);
}

mr_status mr_stream_wait_event(mr_stream* stream, mr_event* event, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->stream_wait_event == NULL) {
    return mrl_refuse(api, "mr_stream_wait_event", err);
  }
  return api->stream_wait_event(stream, event, err);
}

mr_status mr_event_query(mr_event* event, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->event_query == NULL) {
    return mrl_refuse(api, "mr_event_query", err);
  }
  return api->event_query(event, err);
}

mr_status mr_event_synchronize(mr_event* event, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->event_synchronize == NULL) {
    return mrl_refuse(api, "mr_event_synchronize", err);
  }
  return api->event_synchronize(event, err);
}

mr_status mr_event_elapsed(mr_event* start, mr_event* stop, float* out_milliseconds,
                           mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->event_elapsed == NULL) {
    return mrl_refuse(api, "mr_event_elapsed", err);
  }
  return api->event_elapsed(start, stop, out_milliseconds, err);
}

mr_status mr_graph_pool_create(mr_context* context, uint64_t bytes, mr_graph_pool** out,
                               mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->graph_pool_create == NULL) {
    return mrl_refuse(api, "mr_graph_pool_create", err);
  }
  return api->graph_pool_create(context, bytes, out, err);
}

void mr_graph_pool_retain(mr_graph_pool* pool) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->graph_pool_retain != NULL) api->graph_pool_retain(pool);
}

void mr_graph_pool_release(mr_graph_pool* pool) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->graph_pool_release != NULL) api->graph_pool_release(pool);
}

mr_status mr_graph_begin(mr_stream* stream, mr_graph_pool* pool, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->graph_begin == NULL) {
    return mrl_refuse(api, "mr_graph_begin", err);
  }
  return api->graph_begin(stream, pool, err);
}

mr_status mr_graph_end(mr_stream* stream, mr_graph** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->graph_end == NULL) {
    return mrl_refuse(api, "mr_graph_end", err);
  }
  return api->graph_end(stream, out, err);
}

void mr_graph_retain(mr_graph* graph) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->graph_retain != NULL) api->graph_retain(graph);
}

void mr_graph_release(mr_graph* graph) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->graph_release != NULL) api->graph_release(graph);
}

mr_status mr_graph_launch(mr_graph* graph, mr_stream* stream, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->graph_launch == NULL) {
    return mrl_refuse(api, "mr_graph_launch", err);
  }
  return api->graph_launch(graph, stream, err);
}

mr_status mr_ring_create(mr_context* context, uint32_t slots, uint64_t slot_bytes, mr_ring** out,
                         mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->ring_create == NULL) {
    return mrl_refuse(api, "mr_ring_create", err);
  }
  return api->ring_create(context, slots, slot_bytes, out, err);
}

void mr_ring_retain(mr_ring* ring) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->ring_retain != NULL) api->ring_retain(ring);
}

void mr_ring_release(mr_ring* ring) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->ring_release != NULL) api->ring_release(ring);
}

mr_status mr_ring_push(mr_ring* ring, uint32_t slot, mr_stream* stream, const void* from,
                       uint64_t bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->ring_push == NULL) {
    return mrl_refuse(api, "mr_ring_push", err);
  }
  return api->ring_push(ring, slot, stream, from, bytes, err);
}

mr_status mr_ring_query(mr_ring* ring, uint32_t slot, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->ring_query == NULL) {
    return mrl_refuse(api, "mr_ring_query", err);
  }
  return api->ring_query(ring, slot, err);
}

mr_status mr_ring_wait(mr_ring* ring, uint32_t slot, const void** out_data, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->ring_wait == NULL) {
    return mrl_refuse(api, "mr_ring_wait", err);
  }
  return api->ring_wait(ring, slot, out_data, err);
}

mr_status mr_embedding(mr_stream* stream, const mr_embedding_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->embedding == NULL) {
    return mrl_refuse(api, "mr_embedding", err);
  }
  return api->embedding(stream, args, err);
}

mr_status mr_embedding_prepare(mr_stream* stream, const mr_embedding_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->embedding_prepare == NULL) {
    return mrl_refuse(api, "mr_embedding_prepare", err);
  }
  return api->embedding_prepare(stream, args, err);
}

mr_status mr_embedding_workspace(mr_stream* stream, const mr_embedding_args* args,
                                 uint64_t* out_bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->embedding_workspace == NULL) {
    return mrl_refuse(api, "mr_embedding_workspace", err);
  }
  return api->embedding_workspace(stream, args, out_bytes, err);
}

mr_status mr_embedding_kernel(mr_stream* stream, const mr_embedding_args* args, mr_kernel_info* out,
                              mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->embedding_kernel == NULL) {
    return mrl_refuse(api, "mr_embedding_kernel", err);
  }
  return api->embedding_kernel(stream, args, out, err);
}

mr_status mr_rmsnorm(mr_stream* stream, const mr_rmsnorm_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->rmsnorm == NULL) {
    return mrl_refuse(api, "mr_rmsnorm", err);
  }
  return api->rmsnorm(stream, args, err);
}

mr_status mr_rmsnorm_prepare(mr_stream* stream, const mr_rmsnorm_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->rmsnorm_prepare == NULL) {
    return mrl_refuse(api, "mr_rmsnorm_prepare", err);
  }
  return api->rmsnorm_prepare(stream, args, err);
}

mr_status mr_rmsnorm_workspace(mr_stream* stream, const mr_rmsnorm_args* args, uint64_t* out_bytes,
                               mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->rmsnorm_workspace == NULL) {
    return mrl_refuse(api, "mr_rmsnorm_workspace", err);
  }
  return api->rmsnorm_workspace(stream, args, out_bytes, err);
}

mr_status mr_rmsnorm_kernel(mr_stream* stream, const mr_rmsnorm_args* args, mr_kernel_info* out,
                            mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->rmsnorm_kernel == NULL) {
    return mrl_refuse(api, "mr_rmsnorm_kernel", err);
  }
  return api->rmsnorm_kernel(stream, args, out, err);
}

mr_status mr_add(mr_stream* stream, const mr_add_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->add == NULL) {
    return mrl_refuse(api, "mr_add", err);
  }
  return api->add(stream, args, err);
}

mr_status mr_add_prepare(mr_stream* stream, const mr_add_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->add_prepare == NULL) {
    return mrl_refuse(api, "mr_add_prepare", err);
  }
  return api->add_prepare(stream, args, err);
}

mr_status mr_add_workspace(mr_stream* stream, const mr_add_args* args, uint64_t* out_bytes,
                           mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->add_workspace == NULL) {
    return mrl_refuse(api, "mr_add_workspace", err);
  }
  return api->add_workspace(stream, args, out_bytes, err);
}

mr_status mr_add_kernel(mr_stream* stream, const mr_add_args* args, mr_kernel_info* out,
                        mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->add_kernel == NULL) {
    return mrl_refuse(api, "mr_add_kernel", err);
  }
  return api->add_kernel(stream, args, out, err);
}

mr_status mr_gated_activation(mr_stream* stream, const mr_gated_activation_args* args,
                              mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->gated_activation == NULL) {
    return mrl_refuse(api, "mr_gated_activation", err);
  }
  return api->gated_activation(stream, args, err);
}

mr_status mr_gated_activation_prepare(mr_stream* stream, const mr_gated_activation_args* args,
                                      mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->gated_activation_prepare == NULL) {
    return mrl_refuse(api, "mr_gated_activation_prepare", err);
  }
  return api->gated_activation_prepare(stream, args, err);
}

mr_status mr_gated_activation_workspace(mr_stream* stream, const mr_gated_activation_args* args,
                                        uint64_t* out_bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->gated_activation_workspace == NULL) {
    return mrl_refuse(api, "mr_gated_activation_workspace", err);
  }
  return api->gated_activation_workspace(stream, args, out_bytes, err);
}

mr_status mr_gated_activation_kernel(mr_stream* stream, const mr_gated_activation_args* args,
                                     mr_kernel_info* out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->gated_activation_kernel == NULL) {
    return mrl_refuse(api, "mr_gated_activation_kernel", err);
  }
  return api->gated_activation_kernel(stream, args, out, err);
}

mr_status mr_rope(mr_stream* stream, const mr_rope_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->rope == NULL) {
    return mrl_refuse(api, "mr_rope", err);
  }
  return api->rope(stream, args, err);
}

mr_status mr_rope_prepare(mr_stream* stream, const mr_rope_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->rope_prepare == NULL) {
    return mrl_refuse(api, "mr_rope_prepare", err);
  }
  return api->rope_prepare(stream, args, err);
}

mr_status mr_rope_workspace(mr_stream* stream, const mr_rope_args* args, uint64_t* out_bytes,
                            mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->rope_workspace == NULL) {
    return mrl_refuse(api, "mr_rope_workspace", err);
  }
  return api->rope_workspace(stream, args, out_bytes, err);
}

mr_status mr_rope_kernel(mr_stream* stream, const mr_rope_args* args, mr_kernel_info* out,
                         mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->rope_kernel == NULL) {
    return mrl_refuse(api, "mr_rope_kernel", err);
  }
  return api->rope_kernel(stream, args, out, err);
}

mr_status mr_qkv_post(mr_stream* stream, const mr_qkv_post_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->qkv_post == NULL) {
    return mrl_refuse(api, "mr_qkv_post", err);
  }
  return api->qkv_post(stream, args, err);
}

mr_status mr_qkv_post_prepare(mr_stream* stream, const mr_qkv_post_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->qkv_post_prepare == NULL) {
    return mrl_refuse(api, "mr_qkv_post_prepare", err);
  }
  return api->qkv_post_prepare(stream, args, err);
}

mr_status mr_qkv_post_workspace(mr_stream* stream, const mr_qkv_post_args* args,
                                uint64_t* out_bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->qkv_post_workspace == NULL) {
    return mrl_refuse(api, "mr_qkv_post_workspace", err);
  }
  return api->qkv_post_workspace(stream, args, out_bytes, err);
}

mr_status mr_qkv_post_kernel(mr_stream* stream, const mr_qkv_post_args* args, mr_kernel_info* out,
                             mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->qkv_post_kernel == NULL) {
    return mrl_refuse(api, "mr_qkv_post_kernel", err);
  }
  return api->qkv_post_kernel(stream, args, out, err);
}

mr_status mr_attention(mr_stream* stream, const mr_attention_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->attention == NULL) {
    return mrl_refuse(api, "mr_attention", err);
  }
  return api->attention(stream, args, err);
}

mr_status mr_attention_prepare(mr_stream* stream, const mr_attention_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->attention_prepare == NULL) {
    return mrl_refuse(api, "mr_attention_prepare", err);
  }
  return api->attention_prepare(stream, args, err);
}

mr_status mr_attention_workspace(mr_stream* stream, const mr_attention_args* args,
                                 uint64_t* out_bytes, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->attention_workspace == NULL) {
    return mrl_refuse(api, "mr_attention_workspace", err);
  }
  return api->attention_workspace(stream, args, out_bytes, err);
}

mr_status mr_attention_kernel(mr_stream* stream, const mr_attention_args* args, mr_kernel_info* out,
                              mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->attention_kernel == NULL) {
    return mrl_refuse(api, "mr_attention_kernel", err);
  }
  return api->attention_kernel(stream, args, out, err);
}

mr_status mr_matmul(mr_stream* stream, const mr_matmul_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->matmul == NULL) {
    return mrl_refuse(api, "mr_matmul", err);
  }
  return api->matmul(stream, args, err);
}

mr_status mr_matmul_prepare(mr_stream* stream, const mr_matmul_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->matmul_prepare == NULL) {
    return mrl_refuse(api, "mr_matmul_prepare", err);
  }
  return api->matmul_prepare(stream, args, err);
}

mr_status mr_matmul_workspace(mr_stream* stream, const mr_matmul_args* args, uint64_t* out_bytes,
                              mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->matmul_workspace == NULL) {
    return mrl_refuse(api, "mr_matmul_workspace", err);
  }
  return api->matmul_workspace(stream, args, out_bytes, err);
}

mr_status mr_matmul_kernel(mr_stream* stream, const mr_matmul_args* args, mr_kernel_info* out,
                           mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->matmul_kernel == NULL) {
    return mrl_refuse(api, "mr_matmul_kernel", err);
  }
  return api->matmul_kernel(stream, args, out, err);
}

mr_status mr_matmul_plan_create(mr_context* context, const mr_matmul_problem* problem,
                                mr_matmul_plan** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->matmul_plan_create == NULL) {
    return mrl_refuse(api, "mr_matmul_plan_create", err);
  }
  return api->matmul_plan_create(context, problem, out, err);
}

void mr_matmul_plan_retain(mr_matmul_plan* plan) {
  const mr_api* const api = mrl_api();
  if (api != NULL && api->matmul_plan_retain != NULL) api->matmul_plan_retain(plan);
}

void mr_matmul_plan_release(mr_matmul_plan* plan) {
  const mr_api* const api = mrl_late();
  if (api != NULL && api->matmul_plan_release != NULL) api->matmul_plan_release(plan);
}

mr_status mr_matmul_plan_workspace(mr_matmul_plan* plan, int64_t m, uint64_t* out_bytes,
                                   mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->matmul_plan_workspace == NULL) {
    return mrl_refuse(api, "mr_matmul_plan_workspace", err);
  }
  return api->matmul_plan_workspace(plan, m, out_bytes, err);
}

mr_status mr_matmul_plan_kernel(mr_matmul_plan* plan, int64_t m, mr_kernel_info* out,
                                mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->matmul_plan_kernel == NULL) {
    return mrl_refuse(api, "mr_matmul_plan_kernel", err);
  }
  return api->matmul_plan_kernel(plan, m, out, err);
}

mr_status mr_matmul_run(mr_matmul_plan* plan, mr_stream* stream, const mr_matmul_operands* operands,
                        mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->matmul_run == NULL) {
    return mrl_refuse(api, "mr_matmul_run", err);
  }
  return api->matmul_run(plan, stream, operands, err);
}

mr_status mr_argmax(mr_stream* stream, const mr_argmax_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->argmax == NULL) {
    return mrl_refuse(api, "mr_argmax", err);
  }
  return api->argmax(stream, args, err);
}

mr_status mr_argmax_prepare(mr_stream* stream, const mr_argmax_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->argmax_prepare == NULL) {
    return mrl_refuse(api, "mr_argmax_prepare", err);
  }
  return api->argmax_prepare(stream, args, err);
}

mr_status mr_argmax_workspace(mr_stream* stream, const mr_argmax_args* args, uint64_t* out_bytes,
                              mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->argmax_workspace == NULL) {
    return mrl_refuse(api, "mr_argmax_workspace", err);
  }
  return api->argmax_workspace(stream, args, out_bytes, err);
}

mr_status mr_argmax_kernel(mr_stream* stream, const mr_argmax_args* args, mr_kernel_info* out,
                           mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->argmax_kernel == NULL) {
    return mrl_refuse(api, "mr_argmax_kernel", err);
  }
  return api->argmax_kernel(stream, args, out, err);
}

mr_status mr_sample(mr_stream* stream, const mr_sample_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->sample == NULL) {
    return mrl_refuse(api, "mr_sample", err);
  }
  return api->sample(stream, args, err);
}

mr_status mr_sample_prepare(mr_stream* stream, const mr_sample_args* args, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->sample_prepare == NULL) {
    return mrl_refuse(api, "mr_sample_prepare", err);
  }
  return api->sample_prepare(stream, args, err);
}

mr_status mr_sample_workspace(mr_stream* stream, const mr_sample_args* args, uint64_t* out_bytes,
                              mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->sample_workspace == NULL) {
    return mrl_refuse(api, "mr_sample_workspace", err);
  }
  return api->sample_workspace(stream, args, out_bytes, err);
}

mr_status mr_sample_kernel(mr_stream* stream, const mr_sample_args* args, mr_kernel_info* out,
                           mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->sample_kernel == NULL) {
    return mrl_refuse(api, "mr_sample_kernel", err);
  }
  return api->sample_kernel(stream, args, out, err);
}

mr_status mr_abi_layout(uint32_t index, const char** out_struct, const char** out_field,
                        uint32_t* out_offset, uint32_t* out_size, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->abi_layout == NULL) {
    return mrl_refuse(api, "mr_abi_layout", err);
  }
  return api->abi_layout(index, out_struct, out_field, out_offset, out_size, err);
}

mr_status mr_memory_allocate_block(mr_memory* memory, mr_stream* stream, uint64_t bytes,
                                   uint64_t alignment, uint32_t tag, mr_block* out_block,
                                   void** out, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_allocate_block == NULL) {
    return mrl_refuse(api, "mr_memory_allocate_block", err);
  }
  return api->memory_allocate_block(memory, stream, bytes, alignment, tag, out_block, out, err);
}

mr_status mr_memory_free_block(mr_memory* memory, mr_stream* stream, mr_block block,
                               mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_free_block == NULL) {
    return mrl_refuse(api, "mr_memory_free_block", err);
  }
  return api->memory_free_block(memory, stream, block, err);
}

mr_status mr_memory_summary(mr_memory* memory, char* out, uint64_t capacity, uint64_t* out_length,
                            mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_summary == NULL) {
    return mrl_refuse(api, "mr_memory_summary", err);
  }
  return api->memory_summary(memory, out, capacity, out_length, err);
}

mr_status mr_memory_visit(mr_memory* memory, mr_memory_visit_fn visit, void* user, mr_error* err) {
  const mr_api* const api = mrl_api();
  if (api == NULL || api->memory_visit == NULL) {
    return mrl_refuse(api, "mr_memory_visit", err);
  }
  return api->memory_visit(memory, visit, user, err);
}
