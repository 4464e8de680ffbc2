#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dataworker/cache/cache.h"

// For tests: entries that tell what they are.
namespace headrace::dataworker {

inline const JobId kJob(1);
inline const JobId kOther(2);
inline constexpr std::uint64_t kNoQuota = std::uint64_t{1} << 60;

inline CacheKey Key(std::uint64_t inode, std::int64_t version = 0, std::uint64_t form = 7) {
  return {.content = {.device = 1, .inode = inode, .size = 10, .mtime_ns = version, .ctime_ns = 0},
          .form = form};
}

// Content that tells from which key and version it is, everywhere.
inline Bytes Payload(std::uint64_t inode, std::int64_t version, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(inode * 31 + static_cast<std::uint64_t>(version) * 7 + i);
  }
  return bytes;
}

inline bool Put(SampleCache& cache, JobId job, std::uint64_t inode, std::size_t size,
                std::int64_t version = 0) {
  auto claim = cache.TryClaim(job, Key(inode, version), size);
  return claim && claim.Commit(Payload(inode, version, size));
}

inline bool Equal(ByteSpan a, ByteSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

inline JobCacheStats StatsOf(const SampleCache& cache, JobId job) {
  for (const JobCacheStats& stats : cache.JobStats()) {
    if (stats.job == job) return stats;
  }
  return {.job = job};
}

// How many of the job's first `count` samples are there.
inline int Kept(SampleCache& cache, JobId job, std::uint64_t count, std::uint64_t first = 0) {
  int kept = 0;
  for (std::uint64_t inode = first; inode < first + count; ++inode) {
    if (const CachePin pin = cache.Find(job, Key(inode))) {
      kept += Equal(pin.bytes(), Payload(inode, 0, pin.bytes().size())) ? 1 : -1000;
    }
  }
  return kept;
}

}  // namespace headrace::dataworker
