// The library's own result: a code, the sentence that explains it, and what the sentence is about.
//
// Success costs a few stores. Sentences and argument names are string literals, so that an error
// can be built without allocating; `detail` is for the few errors that carry text found at run
// time.
#pragma once

#include <cstdint>

#include "millrace/status.h"

namespace mr {

struct [[nodiscard]] Status {
  mr_status code = MR_OK;
  uint32_t domain = MR_DOMAIN_MILLRACE;
  int32_t native = 0;
  uint32_t flags = 0;
  const char* sentence = "";       // a literal; what is wrong, without the value
  const char* argument = nullptr;  // a literal; the argument's name as the header spells it
  bool has_value = false;
  bool has_limit = false;
  int64_t value = 0;
  int64_t limit = 0;
  char detail[200];  // set only if detail[0] != 0

  Status() { detail[0] = '\0'; }
  Status(mr_status c, const char* text) : code(c), sentence(text) { detail[0] = '\0'; }

  bool ok() const { return code == MR_OK; }

  // Builders, for `return error(...).about("args.width").got(7).wanted(8);`
  Status& about(const char* name) { return argument = name, *this; }
  Status& got(int64_t v) { return has_value = true, value = v, *this; }
  Status& wanted(int64_t v) { return has_limit = true, limit = v, *this; }
  Status& from(uint32_t where, int32_t code_there) {
    return domain = where, native = code_there, *this;
  }
  Status& flag(uint32_t bits) { return flags |= bits, *this; }
  // Copies and truncates; `text` may be NULL.
  Status& say(const char* text);
};

inline Status error(mr_status code, const char* sentence) { return Status(code, sentence); }

inline Status invalid(const char* argument, const char* sentence) {
  return Status(MR_INVALID_ARGUMENT, sentence).about(argument);
}
inline Status invalid(const char* argument, const char* sentence, int64_t value) {
  return Status(MR_INVALID_ARGUMENT, sentence).about(argument).got(value);
}
inline Status invalid(const char* argument, const char* sentence, int64_t value, int64_t limit) {
  return Status(MR_INVALID_ARGUMENT, sentence).about(argument).got(value).wanted(limit);
}
inline Status unsupported(const char* sentence) { return Status(MR_UNSUPPORTED, sentence); }

// Writes "argument: sentence (got value, limit limit): detail" and the codes into the caller's
// report. `out` may be NULL; success writes nothing. Returns the code.
mr_status report(const Status& status, mr_error* out);

const char* status_name(mr_status code);
const char* status_text(mr_status code);

}  // namespace mr

// Leaves the function with the status of `expression` unless it is a success.
#define MR_TRY(expression)                                                                    \
  do {                                                                                        \
    if (::mr::Status mr_try_status = (expression); !mr_try_status.ok()) return mr_try_status; \
  } while (0)
