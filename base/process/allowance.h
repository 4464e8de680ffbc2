#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

// What this process may use of its host: its affinity and the limits of its control groups, of
// version 1 or 2, and of all groups above. A container's limits are such limits. Read anew at each
// call. Thread-safe.
namespace headrace {

struct Allowance {
  double cpus = 1;                 // above 0; the least of affinity and quotas
  std::uint64_t memory_bytes = 0;  // the least of the host's memory and limits
};

// `root` is put before the absolute paths of the system's files; tests make some.
[[nodiscard]] Allowance ReadAllowance(const std::string& root = "");

// kInvalidArgument: so many bytes are more than this process may ever have; the message has both.
[[nodiscard]] Status CheckMemoryFits(std::uint64_t bytes);

// What is used of the processors that this process may use, in seconds since any moment.
struct ProcessorUse {
  double idle_seconds = 0;  // of all processors of its affinity together
  struct Group {
    double cpus = 0;          // its quota
    double used_seconds = 0;  // by all in it
  };
  std::vector<Group>
      groups;  // of control groups: its own and those above it, where they have a quota
};
// Takes some 50 µs. nullopt: the system does not say. `root`: as above.
[[nodiscard]] std::optional<ProcessorUse> ReadProcessorUse(const std::string& root = "");

// Threads that keep all of the allowed processors busy: the next whole number, at least 1.
[[nodiscard]] int UsableCpus();

// Memory that can be had now, in bytes: the least of what the host has left and of what each group
// has left. Files in the page cache count as had, since the kernel gives them up.
[[nodiscard]] std::uint64_t AvailableMemory(const std::string& root = "");

// What a cache in memory may have where nobody says, in bytes: a quarter of what can be had now. So the
// program beside it, and three more like it, find room.
[[nodiscard]] std::uint64_t UsualCacheBytes(const std::string& root = "");

}  // namespace headrace
