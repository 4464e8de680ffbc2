#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "dataworker/peers/cache_lease.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// The costs of one sample, noted by the code that makes it.
struct SampleCost {
  Duration total{};   // of its threads, and of its waits for the source
  Duration cpu{};     // of its threads
  Duration source{};  // reading it, or looking or waiting for it
  std::uint64_t source_bytes = 0;
  bool decoded_hit = false, encoded_hit = false, miss = false;
  std::uint32_t tier = 0;  // of the hit
};

// The costs of a batch: the sums of its samples. Thread-safe.
class BatchCosts {
 public:
  // `tiers`: of the cache.
  BatchCosts(SteadyTime received, std::size_t tiers) : received_(received), tiers_(tiers) {}

  // Notes that the first sample begins. Later calls change nothing.
  void Start(SteadyTime now);
  void Add(const SampleCost& cost);
  // Writes them into the answer. `cache`: of the hits. REQUIRES: all samples were added.
  void Tell(const CacheLease* cache, SteadyTime now, wire::BatchDone& done) const;

 private:
  // The hits of one tier.
  struct TierCount {
    std::atomic<std::uint32_t> decoded = 0, encoded = 0;
    std::atomic<std::uint64_t> cpu_ns = 0;
  };
  const SteadyTime received_;
  std::atomic<bool> started_ = false;
  std::atomic<std::uint64_t> queue_ns_ = 0;
  std::atomic<std::uint64_t> source_ns_ = 0;
  std::atomic<std::uint64_t> total_ns_ = 0;
  std::atomic<std::uint64_t> hit_cpu_ns_ = 0;
  std::atomic<std::uint64_t> miss_cpu_ns_ = 0;
  std::atomic<std::uint64_t> source_bytes_ = 0;
  std::atomic<std::uint32_t> decoded_hits_ = 0;
  std::atomic<std::uint32_t> encoded_hits_ = 0;
  std::atomic<std::uint32_t> misses_ = 0;
  std::vector<TierCount> tiers_;
};

}  // namespace headrace::dataworker
