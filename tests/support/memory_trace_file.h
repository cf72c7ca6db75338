// Traces as files: our own format, and the log that RMM writes.
#pragma once

#include <iosfwd>
#include <string>

#include "support/memory_traces.h"

namespace test {

// One operation a line, with decimal numbers:
//
//   a <id> <bytes> <stream>    allocate at least one byte
//   f <id> <stream>            free, in the order of that stream
//
// Fields are parted by one space. Empty lines, and lines that begin with #, say nothing. An id is
// allocated at most once at a time, and freed only while it is. What is not freed lives on.
void write_trace(std::ostream& out, const MemoryTrace& trace);

// "" if the whole file was read, else what is wrong, with its line; *out is then as before.
std::string read_trace(std::istream& in, MemoryTrace* out);

// The log of RMM's logging_resource_adaptor, comma-separated:
//
//   Thread,Time,Action,Pointer,Size,Stream
//
// with the actions allocate, free and "allocate failure"; the last, and allocations of no bytes,
// are left out. Streams are numbered as they come. Results as above.
std::string read_rmm_log(std::istream& in, MemoryTrace* out);

}  // namespace test
