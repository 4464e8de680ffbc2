#include "dataworker/process_stats.h"

#include <fstream>
#include <string>

#include "base/process_stats.h"

namespace headrace::dataworker {

double CpuSeconds(std::span<const std::int64_t> live_children) {
  double seconds = OwnCpuSeconds() + EndedChildrenCpuSeconds();
  for (const std::int64_t pid : live_children) seconds += ProcessCpuSeconds(pid);
  return seconds;
}

std::uint64_t ResidentBytes() {
  // statm counts in pages: size, resident, shared (files and shared memory) ...; status splits the
  // shared part, of which only shared memory is somebody else's.
  std::ifstream status("/proc/self/status");
  std::uint64_t kib = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:") || line.starts_with("RssFile:")) {
      kib += std::stoull(line.substr(line.find(':') + 1));
    }
  }
  return kib * 1024;
}

}  // namespace headrace::dataworker
