#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "dataworker/cache/cache_tier.h"

namespace headrace::dataworker {

// Hits and misses of the jobs. Of too many jobs the oldest lose their own counts. Thread-compatible.
class JobTallies {
 public:
  void Hit(JobId job) { ++Of(job).hits; }
  void Miss(JobId job) { ++Of(job).misses; }
  void Add(JobId job, std::uint64_t hits, std::uint64_t misses) {
    Tally& of = Of(job);
    of.hits += hits;
    of.misses += misses;
  }

  void AddTo(CacheStats& stats) const {
    stats.hits += of_the_gone_.hits;
    stats.misses += of_the_gone_.misses;
    for (const auto& [job, tally] : jobs_) {
      stats.hits += tally.hits;
      stats.misses += tally.misses;
    }
  }
  void AddTo(std::vector<JobCacheStats>& stats) const {
    for (JobCacheStats& of : stats) {
      const auto at = jobs_.find(of.job);
      if (at == jobs_.end()) continue;
      of.hits += at->second.hits;
      of.misses += at->second.misses;
    }
  }

 private:
  static constexpr std::size_t kMost = 256;
  struct Tally {
    std::uint64_t hits = 0, misses = 0;
  };
  Tally& Of(JobId job) {
    if (jobs_.size() >= kMost && !jobs_.contains(job)) {
      const auto oldest = jobs_.begin();  // ids grow
      of_the_gone_.hits += oldest->second.hits;
      of_the_gone_.misses += oldest->second.misses;
      jobs_.erase(oldest);
    }
    return jobs_[job];
  }

  std::map<JobId, Tally> jobs_;
  Tally of_the_gone_;
};

}  // namespace headrace::dataworker
