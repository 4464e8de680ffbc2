#include "simulate/cache_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace::simulate {
namespace {

// Amounts that differ by less than this part of the data set count as equal.
constexpr double kTiny = 1e-9;

}  // namespace

CacheModel::CacheModel(std::span<const Dataset> datasets, double capacity,
                       std::span<const int> hosts, double room)
    : capacity_(capacity) {
  for (const Dataset& each : datasets) bytes_.push_back(each.bytes);
  for (std::size_t d = 0; d < datasets.size(); ++d) {
    hosts_.emplace_back(hosts.empty() ? 1 : static_cast<std::size_t>(hosts[d]),
                        coordinator::CacheHost{1, room});
  }
  cached_.assign(bytes_.size(), 0);
  quota_ = wanted_ = added_ = fill_ = cached_;
  kept_.assign(bytes_.size(), 1);
  seen_.assign(bytes_.size(), false);
}

double CacheModel::Limit(std::size_t d) const {
  return std::min(quota_[d], coordinator::UsefulBytes(bytes_[d], hosts_[d]));
}

double CacheModel::HitNow(std::size_t d) const {
  return coordinator::HitShare(cached_[d], bytes_[d], hosts_[d]);
}

bool CacheModel::Fills(std::size_t d) const { return cached_[d] < Limit(d) - kTiny * bytes_[d]; }

Reading CacheModel::Begin(std::size_t dataset) const {
  return {dataset, bytes_[dataset], HitNow(dataset)};
}

void CacheModel::Hold(std::span<const double> cached) {
  cached_.assign(cached.begin(), cached.end());
  total_ = std::accumulate(cached_.begin(), cached_.end(), 0.0);
}

void CacheModel::SetQuotas(std::span<const std::size_t> datasets, std::span<const double> bytes) {
  for (const std::size_t d : with_quota_) quota_[d] = 0;
  with_quota_.assign(datasets.begin(), datasets.end());
  for (std::size_t i = 0; i < datasets.size(); ++i) quota_[datasets[i]] = bytes[i];
}

void CacheModel::SetFills(std::span<const std::size_t> datasets,
                          std::span<const double> bytes_per_second) {
  for (const std::size_t d : filled_) fill_[d] = 0;
  filled_.assign(datasets.begin(), datasets.end());
  for (std::size_t i = 0; i < filled_.size(); ++i) fill_[filled_[i]] = bytes_per_second[i];
}

void CacheModel::Evict(double needed) {
  for (std::size_t d = 0; d < cached_.size() && needed > 0; ++d) {
    const double spare = cached_[d] - Limit(d);
    if (spare <= 0) continue;
    const double taken = std::min(spare, needed);
    kept_[d] *= (cached_[d] - taken) / cached_[d];
    cached_[d] -= taken;
    total_ -= taken;
    needed -= taken;
    evicted_.push_back(d);
  }
}

void CacheModel::Advance(double dt, std::span<Reading* const> readers) {
  for (const Reading* reader : readers) {
    const std::size_t d = reader->dataset;
    if (!seen_[d]) touched_.push_back(d);
    seen_[d] = true;
    wanted_[d] += reader->rate * (1 - reader->hit) * dt;
  }
  double more = 0;
  // Nothing of it was read in this epoch: what was read and is to be kept is cached.
  for (const std::size_t d : filled_) {
    if (seen_[d]) wanted_[d] += fill_[d] * dt;
  }
  for (const std::size_t d : touched_) {
    added_[d] = std::clamp(Limit(d) - cached_[d], 0.0, wanted_[d]);
    more += added_[d];
  }
  if (more > 0 && total_ + more > capacity_) Evict(total_ + more - capacity_);
  for (const std::size_t d : touched_) {
    cached_[d] += added_[d];
    total_ += added_[d];
  }
  for (Reading* reader : readers) {
    const std::size_t d = reader->dataset;
    const double read = reader->rate * dt;
    if (read >= reader->unread - kTiny * bytes_[d]) {  // an epoch ended, or several
      const double into = std::fmod(read - reader->unread, bytes_[d]);
      reader->unread = bytes_[d] - std::max(0.0, into);
      reader->cached_share = HitNow(d);
      continue;
    }
    reader->unread -= read;
    double share = reader->cached_share * kept_[d];
    if (added_[d] > 0 && wanted_[d] > 0) {
      const double own = read * (1 - reader->hit) / wanted_[d];
      share += added_[d] * (1 - own) / reader->unread / static_cast<double>(hosts_[d].size());
    }
    reader->cached_share = std::min(1.0, share);
  }
  for (const std::size_t d : touched_) {
    wanted_[d] = added_[d] = 0;
    seen_[d] = false;
  }
  for (const std::size_t d : evicted_) kept_[d] = 1;
  touched_.clear();
  evicted_.clear();
}

double CacheModel::NextEpoch(const Reading& reading) const {
  const std::size_t d = reading.dataset;
  if (reading.rate <= 0) return coordinator::kUnlimited;
  const double then = HitNow(d);
  if (!Fills(d) && std::abs(then - reading.cached_share) < kTiny) return coordinator::kUnlimited;
  return reading.unread / reading.rate;
}

bool CacheModel::Drifts(std::span<Reading* const> readers) const {
  for (const std::size_t d : filled_) {
    if (fill_[d] > 0 && Fills(d)) return true;
  }
  double fills = 0;
  for (const Reading* reader : readers) {
    if (Fills(reader->dataset)) fills += reader->rate * (1 - reader->hit);
  }
  if (fills == 0) return false;
  const bool full = total_ >= capacity_ * (1 - kTiny);
  std::vector<std::size_t> filling;
  for (const Reading* reader : readers) {
    const std::size_t d = reader->dataset;
    if (full && cached_[d] > Limit(d) + kTiny * bytes_[d]) return true;
    if (Fills(d)) filling.push_back(d);
  }
  std::sort(filling.begin(), filling.end());
  return std::adjacent_find(filling.begin(), filling.end()) != filling.end();
}

}  // namespace headrace::simulate
