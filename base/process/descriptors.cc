#include "base/process/descriptors.h"

#include <dirent.h>
#include <sys/resource.h>

#include <cerrno>

#include "base/process/descriptors_internal.h"

namespace headrace {
namespace {

// Written once, by RaiseDescriptorLimit at the start of a program.
rlimit before{};
bool raised = false;

}  // namespace

std::uint64_t DescriptorLimit() {
  rlimit now{};
  return ::getrlimit(RLIMIT_NOFILE, &now) == 0 ? now.rlim_cur : 0;
}

std::uint64_t UsualDescriptorLimit() { return raised ? before.rlim_cur : DescriptorLimit(); }

std::uint64_t RaiseDescriptorLimit() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return 0;
  const rlimit most{now.rlim_max, now.rlim_max};
  if (now.rlim_cur < now.rlim_max && ::setrlimit(RLIMIT_NOFILE, &most) == 0) {
    before = now;
    raised = true;
  }
  return DescriptorLimit();
}

void KeepDescriptorLimitOf(pid_t child) {
  if (raised) ::prlimit(child, RLIMIT_NOFILE, &before, nullptr);
}

std::uint64_t OpenDescriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  // At the limit not even this opens.
  if (directory == nullptr) return errno == EMFILE ? DescriptorLimit() : 0;
  std::uint64_t entries = 0;
  while (const dirent* entry = ::readdir(directory)) entries += entry->d_name[0] != '.';
  ::closedir(directory);
  return entries - 1;  // the directory's own
}

std::string DescriptorAlarm::Observe(std::uint64_t open, std::uint64_t limit) {
  if (limit == 0 || open < limit / 10 * 8) said_ = false;
  if (limit == 0 || said_ || open < limit / 10 * 9) return "";
  said_ = true;
  return std::to_string(open) + " of " + std::to_string(limit) +
         " descriptors are open: connections beyond that get no answer. Raise the hard limit "
         "(ulimit -Hn; LimitNOFILE of systemd; --ulimit nofile of a container)";
}

}  // namespace headrace
