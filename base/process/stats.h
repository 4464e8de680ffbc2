#pragma once

#include <cstdint>
#include <span>

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

// User and system time of this process, its ended children, and the given live ones with theirs.
[[nodiscard]] double CpuSeconds(std::span<const std::int64_t> live_children);
// Of a thread, since it began.
struct ThreadUsage {
  std::uint64_t cpu_ns = 0;
  std::uint64_t waits = 0;  // times that it gave its processor up: for a disk, a lock, a timer
};
// Of the calling thread. Two system calls.
[[nodiscard]] ThreadUsage UsageOfThisThread();
// CPU time of a process without its children, in nanoseconds; 0 when it is gone.
[[nodiscard]] std::uint64_t ProcessCpuNanos(std::int64_t pid);
// Bytes that a process, and its children that it has waited for, got from read() and its like: of
// files, whether they were in the page cache or not, and of pipes; not what is mapped, nor what
// recv() brings. 0 when it is gone, or the system does not say.
[[nodiscard]] std::uint64_t ProcessReadBytes(std::int64_t pid);
// Resident memory of this process without memory that it shares with trainers (arenas, blobs).
[[nodiscard]] std::uint64_t ResidentBytes();

}  // namespace headrace
