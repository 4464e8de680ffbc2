#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// Cache tiers of a worker, by name. Lists have the fastest tier first, so that a new tier needs no
// field of its own.
namespace headrace::wire {

// The most tiers that a list may name; more is refused.
inline constexpr std::size_t kMostTiers = 16;

// Room in one tier: the worker's budget, or a job's quota.
struct TierBytes {
  std::string tier;
  std::uint64_t bytes = 0;
  friend bool operator==(const TierBytes&, const TierBytes&) = default;
};
// What one job, or all together, have in one tier, and how often they asked it.
struct TierUse {
  std::string tier;
  std::uint64_t bytes = 0;    // now
  std::uint64_t entries = 0;  // now
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;  // the next tier was asked
  friend bool operator==(const TierUse&, const TierUse&) = default;
};
// Samples that came from one tier.
struct TierHits {
  std::string tier;
  std::uint64_t decoded = 0;
  std::uint64_t encoded = 0;
  std::uint64_t cpu_ns = 0;  // CPU time of threads, for the decoded ones
  friend bool operator==(const TierHits&, const TierHits&) = default;
};

}  // namespace headrace::wire
