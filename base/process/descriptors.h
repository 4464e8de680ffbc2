#pragma once

#include <cstdint>
#include <string>

// The descriptors that this process may have open (RLIMIT_NOFILE). All thread-safe.
namespace headrace {

// Raises the soft limit to the hard one: a server needs a descriptor for each connection, and the usual
// soft limit is 1,024. Programs that Spawn starts keep the limit from before, since select() takes no
// number above 1,023. Returns the limit that holds then.
std::uint64_t RaiseDescriptorLimit();

[[nodiscard]] std::uint64_t DescriptorLimit();
// The soft limit that a program usually has: that from before RaiseDescriptorLimit.
[[nodiscard]] std::uint64_t UsualDescriptorLimit();
// How many are open; 0: /proc does not say.
[[nodiscard]] std::uint64_t OpenDescriptors();

// Decides when to warn. Pure.
class DescriptorAlarm {
 public:
  // A line for the log when nine tenths of the limit are open; empty: nothing to say. It is said again
  // after fewer than eight tenths were open.
  [[nodiscard]] std::string Observe(std::uint64_t open, std::uint64_t limit);

 private:
  bool said_ = false;
};

}  // namespace headrace
