#include "base/process/stats.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/process/rusage.h"

namespace headrace {
namespace {

double CpuSecondsOfAll(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  return CpuSecondsOf(usage);
}

std::uint64_t Nanos(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Bytes that /proc/self/status says after `name`.
std::uint64_t OfStatus(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(line.find(':') + 1)) * 1024;
  }
  return 0;
}

struct ProcessTicks {
  std::uint64_t own = 0, children = 0;
};

// Zero when the process is gone.
ProcessTicks TicksOf(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return {};
  const std::size_t name_end = text.rfind(')');  // the name may contain any characters
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  // Fields 14 to 17 (proc(5)), in clock ticks.
  std::uint64_t user = 0, system = 0, children_user = 0, children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  return {.own = user + system, .children = children_user + children_system};
}

}  // namespace

double OwnCpuSeconds() { return CpuSecondsOfAll(RUSAGE_SELF); }

double EndedChildrenCpuSeconds() { return CpuSecondsOfAll(RUSAGE_CHILDREN); }

double ProcessCpuSeconds(std::int64_t pid) {
  const ProcessTicks ticks = TicksOf(pid);
  return static_cast<double>(ticks.own + ticks.children) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::uint64_t ProcessChildrenCpuNanos(std::int64_t pid) {
  return TicksOf(pid).children *
         (1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

ThreadUsage UsageOfThisThread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);  // these times are coarse
  return {.cpu_ns = Nanos(CLOCK_THREAD_CPUTIME_ID),
          .waits = static_cast<std::uint64_t>(usage.ru_nvcsw)};
}

std::uint64_t ProcessCpuNanos(std::int64_t pid) {
  if (pid <= 0) return 0;
  // What clock_getcpuclockid() makes of it, without its question whether there is such a process.
  return Nanos(static_cast<clockid_t>(~static_cast<std::uint32_t>(pid) << 3 | 2U));
}

std::uint64_t ProcessReads::Bytes(std::int64_t pid) {
  if (pid <= 0) return 0;
  if (pid != pid_) {
    const std::string path = "/proc/" + std::to_string(pid) + "/io";
    file_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    pid_ = pid;
  }
  std::array<char, 256> text{};
  const ssize_t got = ::pread(file_.get(), text.data(), text.size(), 0);
  const std::string_view all(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  constexpr std::string_view kName = "rchar: ";
  const std::size_t at = all.find(kName);
  std::uint64_t bytes = 0;
  if (at != all.npos)
    std::from_chars(all.data() + at + kName.size(), all.data() + all.size(), bytes);
  return bytes;
}

double CpuSeconds(std::span<const std::int64_t> live_children) {
  double seconds = OwnCpuSeconds() + EndedChildrenCpuSeconds();
  for (const std::int64_t pid : live_children) seconds += ProcessCpuSeconds(pid);
  return seconds;
}

std::uint64_t ResidentBytes() {
  // statm counts in pages: size, resident, shared (files and shared memory) ... Only shared memory
  // belongs to others too. /proc/self/status lists it apart from files.
  return OfStatus("RssAnon:") + OfStatus("RssFile:");
}

std::uint64_t PrivateBytes() { return OfStatus("RssAnon:"); }

}  // namespace headrace
