/* millrace/probe.h : what this machine offers, before anything costly is made. */
#ifndef MILLRACE_PROBE_H
#define MILLRACE_PROBE_H

#include "status.h"

MR_EXTERN_C_BEGIN

/* Backends. */
#define MR_BACKEND_AUTO 0u /* the best device there is: CUDA device 0 if usable, else the host */
#define MR_BACKEND_HOST 1u
#define MR_BACKEND_CUDA 2u

/* What the library is and what it found. Filled by the library up to the caller's struct_size. */
typedef struct mr_probe_info {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint32_t version;
  uint32_t abi_version;
  uint32_t cuda_runtime_version; /* the copy linked in, 13000 = 13.0; 0: built without CUDA */
  uint32_t cuda_driver_version;  /* the newest CUDA that the driver supports; 0: no driver */
  uint32_t cuda_driver_minimum;  /* lowest that the linked runtime accepts; 0: built without CUDA */
  uint32_t device_count;         /* of all backends; the host is always one */
  mr_status cuda_status;         /* OK, NO_DRIVER, DRIVER_TOO_OLD, NO_DEVICE, or UNSUPPORTED where the
                                    library was built without CUDA */
  uint32_t reserved;
  char cuda_architectures[128]; /* machine code and PTX compiled in: "80 90a 120+ptx"; "" without */
  char build[64];               /* compiler and build type */
} mr_probe_info;

#define MR_PROBE_INFO_INIT {sizeof(mr_probe_info), 0u, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}}

/* One device. Filled by the library up to the caller's struct_size. */
typedef struct mr_device_info {
  uint32_t struct_size;
  uint32_t flags;             /* 0 */
  uint32_t backend;           /* MR_BACKEND_HOST or MR_BACKEND_CUDA */
  int32_t ordinal;            /* within its backend, as the host application sees it */
  int32_t architecture;       /* CUDA: 10 * major + minor; host: the x86-64 level 1 to 4, else 0 */
  int32_t multiprocessors;    /* CUDA: SMs; host: hardware threads */
  mr_status usable;           /* OK, or why a context there would fail (NO_KERNEL_IMAGE) */
  uint32_t reserved;
  uint64_t memory_bytes;      /* capacity */
  uint64_t l2_bytes;          /* last-level cache; 0 if unknown */
  uint64_t shared_per_block;  /* opt-in maximum; host: 0 */
  char name[128];
} mr_device_info;

#define MR_DEVICE_INFO_INIT {sizeof(mr_device_info), 0u, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/* mr_probe() : library, driver and how many devices there are. Creates no CUDA context and loads
 * nothing but the driver library. Always succeeds on a machine without a driver. [host] */
MR_API mr_status mr_probe(mr_probe_info* out, mr_error* err) MR_NOEXCEPT;

/* mr_device_query() : the device with index 0 <= index < mr_probe_info.device_count; CUDA devices
 * come first, the host last. Attribute queries only: no CUDA context is created. [host] */
MR_API mr_status mr_device_query(uint32_t index, mr_device_info* out, mr_error* err) MR_NOEXCEPT;

/* mr_dependency() : the path and version of a library that is loaded on demand.
 * `name` is "cublaslt", "cudnn" or "blas". Writes NUL-terminated text of at most `capacity` bytes,
 * e.g. "/usr/lib/x86_64-linux-gnu/libopenblas.so.0 (OpenBLAS 0.3.21)"; `out` may be NULL when
 * capacity is 0. *out_length (may be NULL) receives the full length without NUL.
 * Errors: DEPENDENCY_MISSING with what was tried, if it is not loaded. Does not load it. [host] */
MR_API mr_status mr_dependency(const char* name, char* out, uint64_t capacity, uint64_t* out_length,
                               mr_error* err) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
