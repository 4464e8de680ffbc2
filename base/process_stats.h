#pragma once

#include <cstdint>

// What the system says of processes. All thread-safe.
namespace headrace {

// User and system time of this process, of all its threads, in seconds.
[[nodiscard]] double OwnCpuSeconds();
// The same of its children that have ended and been waited for, theirs included.
[[nodiscard]] double EndedChildrenCpuSeconds();
// User and system time of a process and its ended children, in seconds; 0 when it is gone.
[[nodiscard]] double ProcessCpuSeconds(std::int64_t pid);
// Processors that this process may use; at least 1.
[[nodiscard]] int UsableCpus();

}  // namespace headrace
