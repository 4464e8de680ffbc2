#include "dataworker/stage/cpu_account.h"

namespace headrace::dataworker {

std::uint64_t CpuAccount::Note(std::int64_t process, std::uint64_t nanos) {
  if (nanos == 0) return 0;
  std::uint64_t& counted = counted_[process];
  const std::uint64_t before =
      nanos < counted ? 0 : counted;  // less: another process has the number
  counted = nanos;
  return nanos - before;
}

void CpuAccount::KeepOnly(const std::set<std::int64_t>& processes) {
  std::erase_if(counted_, [&](const auto& entry) { return !processes.contains(entry.first); });
}

}  // namespace headrace::dataworker
