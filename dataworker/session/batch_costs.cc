#include "dataworker/session/batch_costs.h"

#include <algorithm>

namespace headrace::dataworker {
namespace {

std::uint64_t Nanos(Duration duration) {
  return static_cast<std::uint64_t>(std::max<Duration::rep>(duration.count(), 0));
}

}  // namespace

void BatchCosts::Start(SteadyTime now) {
  if (!started_.exchange(true)) queue_ns_ = Nanos(now - received_);
}

void BatchCosts::Add(const SampleCost& cost) {
  total_ns_ += Nanos(cost.total);
  source_ns_ += Nanos(cost.source);
  source_bytes_ += cost.source_bytes;
  // Only a hit that saves the decoding is a cheaper path.
  (cost.decoded_hit ? hit_cpu_ns_ : miss_cpu_ns_) += Nanos(cost.cpu);
  decoded_hits_ += cost.decoded_hit ? 1 : 0;
  encoded_hits_ += cost.encoded_hit ? 1 : 0;
  misses_ += cost.miss ? 1 : 0;
  if (!cost.decoded_hit && !cost.encoded_hit) return;
  TierCount& tier = tiers_[cost.tier];
  (cost.decoded_hit ? tier.decoded : tier.encoded) += 1;
  if (cost.decoded_hit) tier.cpu_ns += Nanos(cost.cpu);
}

void BatchCosts::Tell(const CacheLease* cache, SteadyTime now, wire::BatchDone& done) const {
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    const TierCount& tier = tiers_[i];
    if (tier.decoded == 0 && tier.encoded == 0) continue;
    done.tiers.push_back({cache->tier_name(i), tier.decoded, tier.encoded, tier.cpu_ns});
  }
  done.cost = {.source_ns = source_ns_,
               .compute_ns = total_ns_ - std::min<std::uint64_t>(source_ns_, total_ns_),
               .queue_ns = queue_ns_,
               .decoded_hits = decoded_hits_,
               .encoded_hits = encoded_hits_,
               .misses = misses_,
               .hit_cpu_ns = hit_cpu_ns_,
               .miss_cpu_ns = miss_cpu_ns_,
               .source_bytes = source_bytes_,
               .wall_ns = Nanos(now - received_),
               .refused_samples = static_cast<std::uint32_t>(done.failures.size())};
}

}  // namespace headrace::dataworker
