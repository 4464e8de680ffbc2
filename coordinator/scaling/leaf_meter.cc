#include "coordinator/scaling/leaf_meter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::coordinator {
namespace {

// Below it a share of hits tells nothing of a size: lookups of entries that came just now are misses.
constexpr double kSomeHits = 0.05;
// A cache that grows by less is one that does not grow.
constexpr double kGrows = 0.01;
// Lanes hand over what they keep in pieces, at the end of their epoch at the latest.
constexpr double kLongerThanAnEpoch = 1.25;
// Room that is left: beyond that which a segment needs (leaf_cost.py).
constexpr double kRoomShare = 1.0 / 32, kRoomBytes = 4 << 20;
// Where the cache answers nearly all, what is still read belongs to no leaf.
constexpr double kLeastMisses = 0.1;
// A sample costs something, whatever is found.
constexpr double kLeastCost = 0.02;
// A job that finds far more than it holds finds what others hold: it has so much less to keep by itself.
constexpr double kOwn = 1.5;

}  // namespace

void LeavesHeld::Add(const wire::JobUsage& usage, std::uint64_t quota_bytes) {
  quota += static_cast<double>(quota_bytes);
  entries += static_cast<double>(usage.cache_entries);
  bytes += static_cast<double>(usage.cache_entry_bytes);
  room += static_cast<double>(usage.cache_bytes);
  made_s += static_cast<double>(usage.cache_made_ns) * 1e-9;
  workers += 1;
}

void LeafMeter::ReportLookups(double hits, double misses) {
  new_hits_ += std::max(0.0, hits);
  new_lookups_ += std::max(0.0, hits) + std::max(0.0, misses);
}

void LeafMeter::EndPeriod(double samples) {
  const double keep = std::exp2(-1 / kHalfLife);
  const double lookups = std::exchange(new_lookups_, 0), hits = std::exchange(new_hits_, 0);
  samples_ = samples_ * keep + samples;
  lookups_ = lookups_ * keep + lookups;
  hits_ = hits_ * keep + hits;
  const double on_worker = held_.workers > 0 ? held_.bytes / held_.workers : 0;
  cached_ = cached_ * keep + lookups * on_worker;
  if (held_.entries > 0 && held_.bytes > 0) {
    entry_bytes_ = held_.bytes / held_.entries;
    entry_s_ = held_.made_s / held_.entries;
  }
  const bool grows = held_.bytes > (1 + kGrows) * grown_to_;
  if (grows || held_.bytes < (1 - kGrows) * grown_to_) {
    grown_to_ = held_.bytes;
    since_ = 0;
  } else {
    since_ += lookups;
  }
  reach_ = is_whole() ? raw_hit() : std::max(reach_, raw_hit());
}

bool LeafMeter::is_whole() const {
  const double room = std::max(kRoomBytes, kRoomShare * held_.quota);
  if (held_.entries <= 0 || held_.quota - held_.room < room || raw_hit() < kSomeHits) return false;
  const double epoch =
      std::max(epochs_.samples() * raw_lookups(), held_.entries / held_.workers / raw_hit());
  return since_ > kLongerThanAnEpoch * epoch;
}

double LeafMeter::hit() const { return std::min(1.0, raw_hit() / reach_); }

double LeafMeter::lookups_a_sample() const { return raw_lookups() * reach_; }

double LeafMeter::saved() const {
  const double found = kFindSeconds + kFindSecondsPerByte * entry_bytes_;
  return lookups_a_sample() * std::max(0.0, entry_s_ - found);
}

std::optional<double> LeafMeter::bytes() const {
  if (!known()) return std::nullopt;
  const double on_worker = held_.workers > 0 ? held_.bytes / held_.workers : 0;
  if (is_whole()) return on_worker * kSlack;
  const double of_epoch = epochs_.samples() * lookups_a_sample() * entry_bytes_ * kSlack;
  if (raw_hit() < kSomeHits) {
    return of_epoch > 0 ? std::optional(std::max(of_epoch, on_worker)) : std::nullopt;
  }
  const double of_hits = cached_ / lookups_ / hit() * kSlack;
  // While a cache is filled, it is hit less than it holds, so this one is too large, not too small.
  const bool is_own = of_epoch > 0 && of_epoch < kOwn * of_hits;
  return std::max(is_own ? of_epoch : of_hits, on_worker);
}

Terms LeafMeter::TermsOf(Terms whole) const {
  const double missed = 1 - hit();
  const double most = (1 - kLeastCost) * whole.miss_cost;
  const double all = missed > 0 ? std::min(saved(), most / missed) : saved();
  whole.hit_cost = whole.miss_cost - missed * all;
  whole.miss_cost += hit() * all;
  whole.miss_bytes /= std::max(kLeastMisses, missed);
  return whole;
}

}  // namespace headrace::coordinator
