/* millrace/status.h : result codes and the error report. */
#ifndef MILLRACE_STATUS_H
#define MILLRACE_STATUS_H

#include "base.h"

MR_EXTERN_C_BEGIN

/* A result code. Values are pinned, come in families of ten, and are never reused; treat a value
 * that you do not know as a failure of its family (value / 10). */
typedef int32_t mr_status;

#define MR_OK 0

/* 10: the call itself is wrong. */
#define MR_INVALID_ARGUMENT    10 /* an argument is outside its documented range */
#define MR_UNSUPPORTED         11 /* valid, but no kernel or feature here serves it */
#define MR_MISALIGNED          12 /* an address is not a multiple of its element's size */
#define MR_WORKSPACE_TOO_SMALL 13 /* the stream's scratch is smaller than the call needs */
#define MR_NOT_PREPARED        14 /* the call needs its _prepare or a plan first */
#define MR_CAPTURE_VIOLATION   15 /* not legal in the stream's present capture state */
#define MR_VERSION_MISMATCH    16 /* no ABI version satisfies both sides */
#define MR_NOT_READY           17 /* the queried work is not finished (not a failure of the device) */

/* 20: memory. */
#define MR_OUT_OF_HOST_MEMORY   20
#define MR_OUT_OF_DEVICE_MEMORY 21

/* 30: the machine. */
#define MR_NO_DRIVER          30 /* no driver is installed */
#define MR_DRIVER_TOO_OLD     31
#define MR_NO_DEVICE          32
#define MR_NO_KERNEL_IMAGE    33 /* the library holds no code for this device */
#define MR_DEPENDENCY_MISSING 34 /* a library that is loaded on demand is absent or unusable */

/* 40: the device. */
#define MR_DEVICE_ERROR 40 /* the driver refused a call */
#define MR_DEVICE_LOST  41 /* a fault ended the context; every later call on it says so */

/* 50: the process. */
#define MR_FORKED 50 /* the handle was made before fork(); only _release works in the child */

/* 90: a bug in millrace; please report it. */
#define MR_INTERNAL 90

/* Where mr_error.native_code comes from. */
#define MR_DOMAIN_MILLRACE 0u
#define MR_DOMAIN_CUDA     1u
#define MR_DOMAIN_CUBLASLT 2u
#define MR_DOMAIN_CUDNN    3u
#define MR_DOMAIN_SYSTEM   4u /* errno */

/* mr_error.flags */
#define MR_ERROR_CONTEXT_LOST 0x1u /* the context answers nothing but this from now on */
#define MR_ERROR_RETRY        0x2u /* the same call may succeed later */

/* What went wrong. The caller owns it; the library writes it only when a call fails, all of it, and
 * keeps no pointer to it. Frozen: 512 bytes. */
typedef struct mr_error {
  mr_status code;
  uint32_t domain;     /* MR_DOMAIN_... */
  int32_t native_code; /* in that domain, 0 if there is none */
  uint32_t flags;      /* MR_ERROR_... */
  char text[496];      /* UTF-8, NUL-terminated; names the argument, its value and the limit. Never
                          holds tensor contents, prompts or tokens. */
} mr_error;

/* mr_status_name() : "MR_INVALID_ARGUMENT" and so on; "MR_STATUS_UNKNOWN" for other values.
 * mr_status_text() : one sentence on the code.
 * Both return static storage and never NULL. [host] */
MR_API const char* mr_status_name(mr_status status) MR_NOEXCEPT;
MR_API const char* mr_status_text(mr_status status) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
