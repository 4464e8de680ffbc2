#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"

namespace headrace::dataworker {

// The versions of shards that a store told last, for as long as they may be believed: thousands of rows
// share a shard, and one question. Thread-safe.
class ShardVersions {
 public:
  struct Known {
    std::string version;
    Duration valid_for{};  // from now on
  };
  ShardVersions(Clock& clock, Duration valid_for) : clock_(clock), valid_for_(valid_for) {}

  // `asked`: before the store was, so that the time begins no later than its answer's.
  void Note(std::int64_t shard, const std::string& version, SteadyTime asked);
  [[nodiscard]] std::optional<Known> Find(std::int64_t shard) const;
  [[nodiscard]] SteadyTime Now() const { return clock_.Now(); }
  // How much of the time is left for what was asked then.
  [[nodiscard]] Duration Left(SteadyTime asked) const;

 private:
  struct Entry {
    std::string version;
    SteadyTime until{};
  };
  Clock& clock_;
  const Duration valid_for_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, Entry> entries_;  // guarded by mutex_; no more than there are shards
};

}  // namespace headrace::dataworker
