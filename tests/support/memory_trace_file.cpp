#include "support/memory_trace_file.h"

#include <charconv>
#include <istream>
#include <map>
#include <ostream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace test {
namespace {

std::vector<std::string_view> fields_of(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const size_t end = line.find(separator);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

template <class Number>
bool parse(std::string_view text, Number* out, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *out, base);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// As %p and streams write pointers.
bool parse_pointer(std::string_view text, uint64_t* out) {
  *out = 0;
  if (text == "(nil)" || text == "0") return true;
  return text.substr(0, 2) == "0x" && parse(text.substr(2), out, 16);
}

// Calls take(line), which returns "" or what is wrong with it, for each line.
template <class Take>
std::string for_lines(std::istream& in, Take&& take) {
  std::string line;
  size_t number = 0;
  while (std::getline(in, line)) {
    ++number;
    const std::string wrong = take(std::string_view(line));
    if (!wrong.empty()) return "line " + std::to_string(number) + ": " + wrong;
  }
  return in.bad() ? "line " + std::to_string(number + 1) + ": it cannot be read" : "";
}

// Reads our own format line by line.
class TraceReader {
 public:
  std::string take(std::string_view line) {
    if (line.empty() || line[0] == '#') return "";
    const std::vector<std::string_view> fields = fields_of(line, ' ');
    if (fields[0] == "a") return allocation(fields);
    if (fields[0] == "f") return freeing(fields);
    return "neither an allocation (a), a free (f) nor a comment (#)";
  }
  MemoryTrace trace;

 private:
  std::string allocation(const std::vector<std::string_view>& fields) {
    TraceOperation operation;
    if (fields.size() != 4) return "an allocation is: a <id> <bytes> <stream>";
    if (!parse(fields[1], &operation.id)) return "the id is no number of 64 bits";
    if (!parse(fields[2], &operation.bytes)) return "the size is no number of 64 bits";
    if (!parse(fields[3], &operation.stream)) return "the stream is no number of 32 bits";
    if (operation.bytes == 0) return "an allocation has at least one byte";
    if (!live_.insert(operation.id).second) return "the id is allocated already";
    trace.push_back(operation);
    return "";
  }
  std::string freeing(const std::vector<std::string_view>& fields) {
    TraceOperation operation;
    operation.kind = TraceKind::kFree;
    if (fields.size() != 3) return "a free is: f <id> <stream>";
    if (!parse(fields[1], &operation.id)) return "the id is no number of 64 bits";
    if (!parse(fields[2], &operation.stream)) return "the stream is no number of 32 bits";
    if (live_.erase(operation.id) == 0) return "the id is not allocated";
    trace.push_back(operation);
    return "";
  }
  std::unordered_set<uint64_t> live_;
};

class RmmReader {
 public:
  std::string take(std::string_view line) {
    if (!std::exchange(has_header_, true)) {
      if (line == "Thread,Time,Action,Pointer,Size,Stream") return "";
      return "the columns are not Thread,Time,Action,Pointer,Size,Stream";
    }
    const std::vector<std::string_view> fields = fields_of(line, ',');
    if (fields.size() != 6) return "there are not six columns";
    uint64_t pointer = 0, bytes = 0, stream = 0;
    if (!parse_pointer(fields[3], &pointer)) return "the pointer is none";
    if (!parse(fields[4], &bytes)) return "the size is no number of 64 bits";
    if (!parse_pointer(fields[5], &stream)) return "the stream is no pointer";
    // CUDA's constant for the default stream of the calling thread: as many streams as threads.
    const std::string_view thread = stream == 2 ? fields[0] : std::string_view();
    if (fields[2] == "allocate failure") return "";
    if (fields[2] == "allocate") return allocation(pointer, bytes, number_of(stream, thread));
    if (fields[2] == "free") return freeing(pointer, bytes, number_of(stream, thread));
    return "the action is neither allocate, free nor allocate failure";
  }
  std::string end() const { return has_header_ ? "" : "line 1: there is no header"; }
  MemoryTrace trace;

 private:
  struct Live {
    uint64_t id, bytes;
  };
  std::string allocation(uint64_t pointer, uint64_t bytes, uint32_t stream) {
    if (bytes == 0) return "";
    if (pointer == 0) return "an allocation at no address";
    if (!live_.try_emplace(pointer, Live{next_id_, bytes}).second) {
      return "the pointer is allocated already";
    }
    trace.push_back({next_id_++, bytes, TraceKind::kAllocate, stream});
    return "";
  }
  std::string freeing(uint64_t pointer, uint64_t bytes, uint32_t stream) {
    if (bytes == 0) return "";
    const auto at = live_.find(pointer);
    if (at == live_.end()) return "the pointer is not allocated";
    if (at->second.bytes != bytes) return "it was allocated with another size";
    trace.push_back({at->second.id, 0, TraceKind::kFree, stream});
    live_.erase(at);
    return "";
  }
  uint32_t number_of(uint64_t stream, std::string_view thread) {
    const auto next = static_cast<uint32_t>(streams_.size());
    return streams_.try_emplace({stream, std::string(thread)}, next).first->second;
  }

  bool has_header_ = false;
  uint64_t next_id_ = 1;
  std::unordered_map<uint64_t, Live> live_;  // by address
  std::map<std::pair<uint64_t, std::string>, uint32_t> streams_;
};

}  // namespace

void write_trace(std::ostream& out, const MemoryTrace& trace) {
  for (const TraceOperation& operation : trace) {
    if (operation.kind == TraceKind::kFree) {
      out << "f " << operation.id << ' ' << operation.stream << '\n';
    } else {
      out << "a " << operation.id << ' ' << operation.bytes << ' ' << operation.stream << '\n';
    }
  }
}

std::string read_trace(std::istream& in, MemoryTrace* out) {
  TraceReader reader;
  const std::string wrong = for_lines(in, [&](std::string_view line) { return reader.take(line); });
  if (wrong.empty()) *out = std::move(reader.trace);
  return wrong;
}

std::string read_rmm_log(std::istream& in, MemoryTrace* out) {
  RmmReader reader;
  std::string wrong = for_lines(in, [&](std::string_view line) { return reader.take(line); });
  if (wrong.empty()) wrong = reader.end();
  if (wrong.empty()) *out = std::move(reader.trace);
  return wrong;
}

}  // namespace test
