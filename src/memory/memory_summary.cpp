#include "memory/memory_summary.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace mr {
namespace {

void append(std::string* out, const char* format, ...) __attribute__((format(printf, 2, 3)));
void append(std::string* out, const char* format, ...) {
  char line[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  *out += line;
}

struct Size {
  char text[24];
};

// 12.3 MiB; exact below 1 KiB.
Size size_of(uint64_t bytes) {
  Size out;
  if (bytes < 1024) {
    std::snprintf(out.text, sizeof out.text, "%" PRIu64 " B", bytes);
    return out;
  }
  const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  std::snprintf(out.text, sizeof out.text, "%.1f %s", value, units[unit]);
  return out;
}

void row(std::string* out, const char* name, const mr_counter& counter) {
  append(out, "| %-22s | %11s | %11s | %11s |\n", name, size_of(counter.current).text,
         size_of(counter.peak).text, size_of(counter.total).text);
}

void rule(std::string* out) { out->append(67, '-').append("\n"); }

void device_part(std::string* out, const mr_memory_stats& stats) {
  if (stats.device_total == 0) {
    append(out, "the device does not say how much memory it has free\n");
    return;
  }
  append(out, "the device            %s in all, %s free\n", size_of(stats.device_total).text,
         size_of(stats.device_free).text);
  // What a system monitor counts for the whole device is total - free.
  append(out, "  in use              %s, what a system monitor shows for the device, of which\n",
         size_of(stats.device_total - stats.device_free).text);
  append(out, "    this memory       %s reserved\n", size_of(stats.reserved.current).text);
  append(out, "    everything else   %s: contexts, code and scratch of the driver, other\n",
         size_of(stats.external).text);
  append(out, "                      memories of this process, other processes\n");
}

}  // namespace

std::string memory_summary(const mr_memory_stats& stats, const std::string& device) {
  std::string out = "memory on " + device + "\n";
  rule(&out);
  append(&out, "| %-22s | %11s | %11s | %11s |\n", "bytes", "now", "peak", "in all");
  rule(&out);
  row(&out, "requested", stats.requested);
  row(&out, "allocated (rounded)", stats.allocated);
  const char* tags[MR_TAG_COUNT] = {"  other", "  weights", "  KV cache", "  activations",
                                    "  workspace"};
  for (size_t i = 0; i < MR_TAG_COUNT; ++i) row(&out, tags[i], stats.tags[i]);
  row(&out, "active (or waited for)", stats.active);
  row(&out, "reserved (from device)", stats.reserved);
  row(&out, "inactive (cached)", stats.inactive);
  row(&out, "pinned on the host", stats.pinned);
  rule(&out);
  append(&out, "allocations           %" PRIu64 ", of which live %" PRIu64 "\n", stats.allocations,
         stats.allocations - stats.frees);
  append(&out, "failed                %" PRIu64 "; saved by giving cache back %" PRIu64 "\n",
         stats.out_of_memory, stats.retries);
  append(&out, "calls of the driver   %" PRIu64 " for memory, %" PRIu64 " to give it back\n",
         stats.driver_allocations, stats.driver_frees);
  append(&out, "waits between streams %" PRIu64 ", for %s\n", stats.waits,
         size_of(stats.taken_over).text);
  append(&out, "freed, not yet free   %s, of which graphs keep %s\n",
         size_of(stats.active.current - stats.allocated.current).text,
         size_of(stats.graph_bytes).text);
  append(&out, "largest free block    %s\n", size_of(stats.largest_free).text);
  append(&out, "limit                 %s\n",
         stats.limit_bytes != 0 ? size_of(stats.limit_bytes).text : "none");
  if ((stats.flags & MR_MEMORY_PEAKS_ARE_BOUNDS) != 0) {
    append(&out, "peaks are upper bounds: each stream has books of its own\n");
  }
  device_part(&out, stats);
  return out;
}

}  // namespace mr
