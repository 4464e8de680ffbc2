#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace headrace::dataworker {

// Adds up the CPU time of processes that come and go, whoever waits for them. Pure. One thread.
class CpuAccount {
 public:
  // Returns what the process has used since the last call, in nanoseconds. `nanos`: since it began;
  // 0: it is not known, because the process has ended.
  std::uint64_t Note(std::int64_t process, std::uint64_t nanos);
  // All other processes have ended: their numbers may come again.
  void KeepOnly(const std::set<std::int64_t>& processes);

 private:
  std::map<std::int64_t, std::uint64_t> counted_;  // by process
};

}  // namespace headrace::dataworker
