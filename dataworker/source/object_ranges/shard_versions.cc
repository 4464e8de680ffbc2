#include "dataworker/source/object_ranges/shard_versions.h"

#include <algorithm>

namespace headrace::dataworker {

Duration ShardVersions::Left(SteadyTime asked) const {
  return std::max(asked + valid_for_ - clock_.Now(), Duration(0));
}

void ShardVersions::Note(std::int64_t shard, const std::string& version, SteadyTime asked) {
  if (valid_for_ <= Duration(0) || version.empty()) return;
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[shard];
  if (asked + valid_for_ > entry.until) entry = {version, asked + valid_for_};
}

std::optional<ShardVersions::Known> ShardVersions::Find(std::int64_t shard) const {
  const SteadyTime now = clock_.Now();
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(shard);
  if (found == entries_.end() || found->second.until <= now) return std::nullopt;
  return Known{found->second.version, found->second.until - now};
}

}  // namespace headrace::dataworker
