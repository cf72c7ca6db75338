/* millrace_loader.h : the interface of millrace without linking it.
 *
 * Compile millrace_loader.c into the application or plugin (C99, POSIX; -ldl on C libraries that
 * still have one) and call the functions of millrace/millrace.h as if they were linked. Each one
 * goes through the table of the library that mrl_open() found:
 *
 *   before mrl_open()             DEPENDENCY_MISSING; NULL, 0 or nothing where there is no status
 *   a function that the opened,   UNSUPPORTED with its name in the text; NULL, 0 or nothing where
 *   older library does not have   there is no status
 *
 * The definitions are hidden: each module that compiles the loader has its own copy and opens the
 * library for itself. Functions may be called from any thread at once. */
#ifndef MILLRACE_LOADER_H
#define MILLRACE_LOADER_H

/* The names belong to this module, wherever the headers were included first. */
#ifndef MR_API
#define MR_API __attribute__((visibility("hidden")))
#endif

#include <millrace/millrace.h>

MR_EXTERN_C_BEGIN

#define MRL_HIDDEN __attribute__((visibility("hidden")))

/* mrl_open() : finds the library, checks its ABI version, and connects the functions. The places, of
 * which the first that applies counts:
 *   1. `path`, if not NULL
 *   2. the environment variable MILLRACE_LIBRARY, if set and not empty
 *   3. libmillrace.so.0 in the directory of the module that holds this loader (of the program, where
 *      the module's own path is relative), if there is such a file
 *   4. libmillrace.so.0 by the system's search path
 * A name without a slash is looked up like 4. The current directory is never searched. Opening again
 * succeeds and changes nothing if it leads to the same library.
 * Errors: DEPENDENCY_MISSING with each file that was tried and why it failed, VERSION_MISMATCH,
 * INVALID_ARGUMENT if another library is open already. [blocking] */
MRL_HIDDEN mr_status mrl_open(const char* path, mr_error* err) MR_NOEXCEPT;

/* mrl_close() : the functions answer as before mrl_open() from now on, except the _release functions,
 * so that what still exists can be freed. The library stays in memory. May be called at any time, any
 * number of times. [host] */
MRL_HIDDEN void mrl_close(void) MR_NOEXCEPT;

/* mrl_api() : the table in use, as large as this header's whatever the library has (slots that it does
 * not have are NULL); NULL if none is open. [host]
 * mrl_path() : the file that the table came from; "" if none is open. [host] */
MRL_HIDDEN const mr_api* mrl_api(void) MR_NOEXCEPT;
MRL_HIDDEN const char* mrl_path(void) MR_NOEXCEPT;

MR_EXTERN_C_END

#endif
