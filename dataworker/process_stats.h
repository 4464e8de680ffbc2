#pragma once

#include <cstdint>
#include <span>

namespace headrace::dataworker {

// User and system time of this process, its ended children, and the given live ones with theirs.
[[nodiscard]] double CpuSeconds(std::span<const std::int64_t> live_children);
// CPU time of the calling thread, in nanoseconds. A system call.
[[nodiscard]] std::uint64_t ThreadCpuNanos();
// CPU time of a process without its children, in nanoseconds; 0 when it is gone.
[[nodiscard]] std::uint64_t ProcessCpuNanos(std::int64_t pid);
// Resident memory of this process without memory that it shares with trainers (arenas, blobs).
[[nodiscard]] std::uint64_t ResidentBytes();

}  // namespace headrace::dataworker
