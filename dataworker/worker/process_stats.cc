#include "dataworker/worker/process_stats.h"

#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include <fstream>
#include <string>

#include "base/process_stats.h"

namespace headrace::dataworker {
namespace {

std::uint64_t Nanos(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

ThreadUsage UsageOfThisThread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);  // whose times are coarse
  return {.cpu_ns = Nanos(CLOCK_THREAD_CPUTIME_ID),
          .waits = static_cast<std::uint64_t>(usage.ru_nvcsw)};
}

std::uint64_t ProcessCpuNanos(std::int64_t pid) {
  clockid_t clock{};
  if (pid <= 0 || ::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0) return 0;
  return Nanos(clock);
}

std::uint64_t ProcessReadBytes(std::int64_t pid) {
  if (pid <= 0) return 0;
  std::ifstream file("/proc/" + std::to_string(pid) + "/io");
  std::string name;
  for (std::uint64_t bytes = 0; file >> name >> bytes;) {
    if (name == "rchar:") return bytes;
  }
  return 0;
}

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
