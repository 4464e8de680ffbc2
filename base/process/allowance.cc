#include "base/process/allowance.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {
namespace {

// A hierarchy of control groups, as cgroups(7) and proc(5) describe them.
struct Hierarchy {
  bool second = false;      // version 2, which has all controllers
  std::string mount;        // where it is mounted, without `root`
  std::string group;        // this process's group below it: "" or "/a/b"
  std::string controllers;  // of version 1: "cpu,cpuacct"
};

bool Names(std::string_view list, std::string_view word) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

// The number that a file begins with. Nothing: no such file, or "max".
std::optional<std::int64_t> Number(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// The group of this process in each hierarchy that is mounted here.
std::vector<Hierarchy> Hierarchies(const std::string& root) {
  std::vector<Hierarchy> groups;
  std::ifstream own(root + "/proc/self/cgroup");  // ID:CONTROLLERS:PATH
  for (std::string line; std::getline(own, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    Hierarchy group;
    group.controllers = line.substr(first + 1, second - first - 1);
    group.second = group.controllers.empty();
    group.group = line.substr(second + 1);
    groups.push_back(std::move(group));
  }
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // ID PARENT DEVICE ROOT MOUNT OPTIONS ... - TYPE SOURCE OPTIONS
    std::istringstream words(line);
    std::string skipped, mounted, place, type, source, options;
    words >> skipped >> skipped >> skipped >> mounted >> place;
    for (std::string word; words >> word && word != "-";) {
    }
    words >> type >> source >> options;
    if (type != "cgroup" && type != "cgroup2") continue;
    for (Hierarchy& group : groups) {
      const bool fits = type == "cgroup2"
                            ? group.second
                            : !group.second && Names(options, group.controllers.substr(
                                                                  0, group.controllers.find(',')));
      if (!fits || !group.mount.empty()) continue;
      group.mount = place;
      // Without a namespace of its own, a container sees the path from the host's root, and the
      // mount begins at its own group.
      if (mounted != "/" && group.group.starts_with(mounted)) {
        group.group.erase(0, mounted.size());
      }
      if (group.group == "/") group.group.clear();
    }
  }
  std::erase_if(groups, [](const Hierarchy& group) { return group.mount.empty(); });
  return groups;
}

// Calls `look` with the directory of the group and of each group above it.
template <typename Look>
void ForEachGroup(const std::string& root, const Hierarchy& hierarchy, Look look) {
  std::string group = hierarchy.group;
  for (;;) {
    look(root + hierarchy.mount + group);
    if (group.empty()) return;
    group.erase(std::min(group.rfind('/'), group.size()));
  }
}

// The quota of a group; none: it has none.
std::optional<double> QuotaOf(const std::string& group, bool is_second) {
  std::optional<std::int64_t> quota, period;
  if (is_second) {
    std::ifstream file(group + "/cpu.max");  // "QUOTA PERIOD", or "max PERIOD"
    std::int64_t first = 0, second = 0;
    if (file >> first >> second) quota = first, period = second;
  } else {
    quota = Number(group + "/cpu.cfs_quota_us");  // -1: none
    period = Number(group + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

double Cpus(const std::string& root, const Hierarchy& hierarchy) {
  double least = HUGE_VAL;
  ForEachGroup(root, hierarchy, [&](const std::string& group) {
    least = std::min(least, QuotaOf(group, hierarchy.second).value_or(HUGE_VAL));
  });
  return least;
}

// Seconds that all in a group have used. Of version 1 it is there where the two controllers are mounted together.
std::optional<double> UsedBy(const std::string& group, bool is_second) {
  if (!is_second) {
    const auto nanos = Number(group + "/cpuacct.usage");
    return nanos ? std::optional(static_cast<double>(*nanos) * 1e-9) : std::nullopt;
  }
  std::ifstream file(group + "/cpu.stat");
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;) {
    if (name == "usage_usec") return static_cast<double>(value) * 1e-6;
  }
  return std::nullopt;
}

// Of the processors of this process's affinity; none: there is no such file.
std::optional<double> IdleSeconds(const std::string& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return std::nullopt;
  std::ifstream file(root + "/proc/stat");
  std::int64_t ticks = 0;
  int found = 0;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, waits = 0;
    if (!(words >> name >> user >> nice >> system >> idle >> waits) || name.size() < 4) continue;
    const int cpu = std::atoi(name.c_str() + 3);
    if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &set)) continue;
    ticks += idle + waits;
    ++found;
  }
  if (found == 0) return std::nullopt;
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// A limit of memory and what is used of it, without what the kernel gives up when memory is wanted.
struct MemoryGroup {
  std::uint64_t limit = UINT64_MAX;
  std::uint64_t used = 0;
};

MemoryGroup Memory(const std::string& group, bool second) {
  MemoryGroup memory;
  const auto limit = Number(group + (second ? "/memory.max" : "/memory.limit_in_bytes"));
  if (limit && *limit >= 0) memory.limit = static_cast<std::uint64_t>(*limit);
  const auto used = Number(group + (second ? "/memory.current" : "/memory.usage_in_bytes"));
  if (used && *used >= 0) memory.used = static_cast<std::uint64_t>(*used);
  std::ifstream parts(group + "/memory.stat");
  const std::string_view total = second ? "" : "total_";  // of the groups below as well
  std::string name;
  for (std::uint64_t bytes = 0; parts >> name >> bytes;) {
    std::string_view word = name;
    if (!word.starts_with(total)) continue;
    word.remove_prefix(total.size());
    if (word == "inactive_file" || word == "active_file" || word == "slab_reclaimable") {
      memory.used -= std::min(memory.used, bytes);
    }
  }
  return memory;
}

template <typename Look>
void ForEachMemory(const std::string& root, Look look) {
  for (const Hierarchy& hierarchy : Hierarchies(root)) {
    if (!hierarchy.second && !Names(hierarchy.controllers, "memory")) continue;
    ForEachGroup(root, hierarchy,
                 [&](const std::string& group) { look(Memory(group, hierarchy.second)); });
  }
}

std::uint64_t OfHost(const std::string& root, const std::string& name, std::uint64_t otherwise) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kib = 0;
    if (word == name && file >> kib) return kib * 1024;
  }
  return otherwise;
}

int Affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace

Allowance ReadAllowance(const std::string& root) {
  Allowance allowance;
  allowance.cpus = Affinity();
  for (const Hierarchy& hierarchy : Hierarchies(root)) {
    if (!hierarchy.second && !Names(hierarchy.controllers, "cpu")) continue;
    allowance.cpus = std::min(allowance.cpus, Cpus(root, hierarchy));
  }
  allowance.memory_bytes = OfHost(root, "MemTotal:", UINT64_MAX);
  ForEachMemory(root, [&](const MemoryGroup& group) {
    allowance.memory_bytes = std::min(allowance.memory_bytes, group.limit);
  });
  return allowance;
}

std::optional<ProcessorUse> ReadProcessorUse(const std::string& root) {
  const std::optional<double> idle = IdleSeconds(root);
  if (!idle) return std::nullopt;
  ProcessorUse use{.idle_seconds = *idle, .groups = {}};
  bool is_known = true;
  for (const Hierarchy& hierarchy : Hierarchies(root)) {
    if (!hierarchy.second && !Names(hierarchy.controllers, "cpu")) continue;
    ForEachGroup(root, hierarchy, [&](const std::string& group) {
      const std::optional<double> quota = QuotaOf(group, hierarchy.second);
      if (!quota) return;
      const std::optional<double> used = UsedBy(group, hierarchy.second);
      is_known = is_known && used;
      use.groups.push_back({*quota, used.value_or(0)});
    });
  }
  return is_known ? std::optional(std::move(use)) : std::nullopt;
}

Status CheckMemoryFits(std::uint64_t bytes) {
  const std::uint64_t most = ReadAllowance().memory_bytes;
  if (bytes <= most) return {};
  const auto mib = [](std::uint64_t number) { return std::to_string(number >> 20) + " MiB"; };
  return InvalidArgument(mib(bytes) + " are more than the memory of this host, or than its " +
                         "container may use: " + mib(most));
}

int UsableCpus() { return std::max(static_cast<int>(std::ceil(ReadAllowance().cpus)), 1); }

std::uint64_t AvailableMemory(const std::string& root) {
  std::uint64_t available = OfHost(root, "MemAvailable:", UINT64_MAX);
  ForEachMemory(root, [&](const MemoryGroup& group) {
    if (group.limit == UINT64_MAX) return;
    available = std::min(available, group.limit - std::min(group.limit, group.used));
  });
  return available;
}

std::uint64_t UsualCacheBytes(const std::string& root) {
  constexpr std::uint64_t kPart = 4;
  const std::uint64_t available = AvailableMemory(root);
  return available == UINT64_MAX ? 0 : available / kPart;  // nobody knows: nothing is taken
}

}  // namespace headrace
