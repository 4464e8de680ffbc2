#pragma once

#include <cstdint>
#include <span>

#include "base/unique_fd.h"

// What the system says about processes. All thread-safe.
namespace headrace {

// User and system time of all threads of this process, in seconds.
[[nodiscard]] double OwnCpuSeconds();
// User and system time, in seconds, of its children that have ended and were waited for, and of
// theirs.
[[nodiscard]] double EndedChildrenCpuSeconds();
// User and system time of a process and its ended children, in seconds; 0 when it is gone.
[[nodiscard]] double ProcessCpuSeconds(std::int64_t pid);

// User and system time of this process, its ended children, and the given live ones with theirs.
[[nodiscard]] double CpuSeconds(std::span<const std::int64_t> live_children);
// What a thread has used since it began.
struct ThreadUsage {
  std::uint64_t cpu_ns = 0;
  std::uint64_t waits = 0;  // times that it gave its processor up: for a disk, a lock, a timer
};
// Usage of the calling thread. Takes two system calls.
[[nodiscard]] ThreadUsage UsageOfThisThread();
// CPU time of a process without its children, in nanoseconds; 0 when it is gone.
[[nodiscard]] std::uint64_t ProcessCpuNanos(std::int64_t pid);
// CPU time of the children that a process has waited for, and of theirs, in nanoseconds; 0 when it is
// gone.
[[nodiscard]] std::uint64_t ProcessChildrenCpuNanos(std::int64_t pid);
// Bytes that a process got from read() and its like, with those of the children it has waited for.
// Counts files, in the page cache or not, and pipes. Does not count mapped files or recv(). 0 when
// the process is gone, or the system does not say.
// Of one process after the other. Thread-compatible.
class ProcessReads {
 public:
  // A call for the process of the last one takes one system call.
  [[nodiscard]] std::uint64_t Bytes(std::int64_t pid);

 private:
  std::int64_t pid_ = 0;
  UniqueFd file_;
};
// Resident memory of this process, without the memory (arenas, blobs) that it shares with trainers.
[[nodiscard]] std::uint64_t ResidentBytes();
// The same without files.
[[nodiscard]] std::uint64_t PrivateBytes();

}  // namespace headrace
