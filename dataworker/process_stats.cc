#include "dataworker/process_stats.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace headrace::dataworker {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double CpuSecondsOf(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// Fields 14 to 17 of /proc/<pid>/stat (proc(5)): utime, stime, cutime, cstime in clock ticks.
double CpuSecondsOfProcess(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return 0;
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) rest >> skipped;
  double ticks = 0;
  for (int field = 14; field < 18; ++field) {
    double value = 0;
    rest >> value;
    ticks += value;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

double CpuSeconds(std::span<const std::int64_t> live_children) {
  double seconds = CpuSecondsOf(RUSAGE_SELF) + CpuSecondsOf(RUSAGE_CHILDREN);
  for (const std::int64_t pid : live_children) seconds += CpuSecondsOfProcess(pid);
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

int UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace headrace::dataworker
