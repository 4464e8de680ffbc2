#include "coordinator/policy/core/fill_cache.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "coordinator/policy/core/pour.h"

namespace headrace::coordinator {
namespace {

// Part of a quota by which it may differ from what is cached before bytes move.
constexpr double kStays = 0.02;

// If a byte of one data set saves a tenth more than one of another, 1.1^kCacheSharpness times as large a part
// of it is cached. Higher than for rates: data sets differ by orders of magnitude in what a
// byte of them saves.
constexpr double kCacheSharpness = 6;
// Of the logarithm: weights that differ by more count as equally small.
constexpr double kWidest = 600;

// The worth of a data set.
struct Worth {
  double each = 0;    // what a byte of it saves, at the prices
  double weight = 0;  // of its readers' tenants, the mean over their GPUs
  double gpus = 0;
  std::int32_t tenant = -1;
};

std::vector<Worth> WorthOf(const Snapshot& snapshot, std::span<const Reader> readers,
                           const Rates& rates, const Prices& prices) {
  std::vector<Worth> worth(snapshot.datasets.size());
  for (std::size_t d = 0; d < worth.size(); ++d) worth[d].tenant = snapshot.datasets[d].tenant;
  for (const Reader& reader : readers) {
    const JobView& job = *reader.job;
    const auto d = static_cast<std::size_t>(job.dataset);
    if (worth[d].tenant < 0) worth[d].tenant = job.tenant;
    const Terms& terms = job.terms;
    if (snapshot.datasets[d].bytes <= 0) continue;
    worth[d].weight += WeightOf(snapshot, job);
    worth[d].gpus += job.gpus;
    const double rate =
        reader.place == kNotAdmitted ? AskedRate(job, job.effective_hit) : rates[reader.place];
    worth[d].each += rate / snapshot.datasets[d].bytes *
                     (prices.cores * std::max(0.0, terms.miss_cost - terms.hit_cost) +
                      prices.source * terms.miss_bytes);
  }
  return worth;
}

}  // namespace

std::vector<Reader> ReadersOf(const Snapshot& all, std::span<const std::size_t> places) {
  std::vector<Reader> readers;
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    const JobView& job = all.jobs[i];
    // A paused job comes back, and its data should still be there.
    const bool pauses = places[i] == kNotAdmitted && job.received > 0;
    if (job.dataset < 0 || (places[i] == kNotAdmitted && !pauses)) continue;
    readers.push_back({&job, places[i]});
  }
  return readers;
}

namespace {

// What can be given of a data set, in pieces of equal value.
struct Piece {
  double value = 0;
  double bytes = 0;
  std::size_t dataset = 0;
};

// What is left to give to each data set, as pieces. `quotas`: what it has already.
std::vector<Piece> PiecesOf(const Snapshot& snapshot, std::span<const Worth> worth,
                            double keep_bonus, std::span<const double> quotas) {
  std::vector<Piece> pieces;
  for (std::size_t d = 0; d < worth.size(); ++d) {
    if (worth[d].each <= 0) continue;
    const Dataset& dataset = snapshot.datasets[d];
    double given = quotas[d];
    double cached = std::max(0.0, dataset.cached_bytes);
    double most = std::max(0.0, dataset.most_bytes - given);
    const auto add = [&](double value, double bytes) {
      bytes = std::min(most, bytes);
      most -= bytes;
      if (bytes > 0) pieces.push_back({value, bytes, d});
    };
    // On several hosts a byte brings less.
    for (const HitPiece& piece : HitPieces(dataset.bytes, dataset.hosts)) {
      const double already = std::min(given, piece.bytes);
      given -= already;
      const double kept = std::max(already, std::min(cached, piece.bytes));
      cached -= std::min(cached, piece.bytes);
      add(worth[d].each * piece.gain * keep_bonus, kept - already);
      add(worth[d].each * piece.gain, piece.bytes - kept);
    }
  }
  return pieces;
}

// Limits of what is given: all, and by tenant.
class Room {
 public:
  explicit Room(const Snapshot& snapshot) : left_{snapshot.supply.cache_bytes} {
    for (const Tenant& each : snapshot.tenants) left_.push_back(each.quota.cache_bytes);
  }
  // Gives each flow what it can take; flows use no limit yet.
  std::vector<double> Give(std::vector<Flow> flows, std::span<const std::int32_t> tenants) {
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flows[i].uses = {{{0, 1}, {1 + tenants[i], 1}}};
    }
    const std::vector<double> amounts = Pour(flows, left_).amounts;
    for (std::size_t i = 0; i < flows.size(); ++i) Take(tenants[i], amounts[i]);
    return amounts;
  }
  void Take(std::int32_t tenant, double bytes) {
    for (const std::size_t l : {std::size_t{0}, 1 + static_cast<std::size_t>(tenant)}) {
      left_[l] = std::max(0.0, left_[l] - bytes);
    }
  }
  [[nodiscard]] double For(std::int32_t tenant) const {
    return std::min(left_[0], left_[1 + static_cast<std::size_t>(tenant)]);
  }

 private:
  std::vector<double> left_;
};

// Pieces fill together, each in proportion to its bytes and to its value^kCacheSharpness. Adds to `quotas`.
void PourPieces(std::span<const Worth> worth, std::span<const Piece> pieces, Room& room,
                std::vector<double>& quotas) {
  double greatest = 0;
  for (const Piece& piece : pieces) greatest = std::max(greatest, piece.value);
  std::vector<Flow> flows;
  std::vector<std::int32_t> tenants;
  for (const Piece& piece : pieces) {
    const Worth& each = worth[piece.dataset];
    const double apart = std::min(kWidest, kCacheSharpness * std::log(greatest / piece.value));
    flows.push_back({piece.bytes, piece.bytes * each.weight / each.gpus * std::exp(-apart), {}});
    tenants.push_back(each.tenant);
  }
  const std::vector<double> amounts = room.Give(std::move(flows), tenants);
  for (std::size_t p = 0; p < pieces.size(); ++p) quotas[pieces[p].dataset] += amounts[p];
}

}  // namespace

std::vector<double> FillCache(const Snapshot& snapshot, std::span<const Reader> readers,
                              const Rates& rates, const Prices& prices, double keep_bonus) {
  const std::vector<Worth> worth = WorthOf(snapshot, readers, rates, prices);
  Room room(snapshot);
  std::vector<double> quotas(worth.size(), 0);
  // What is pinned comes first.
  for (std::size_t d = 0; d < worth.size(); ++d) {
    if (worth[d].tenant < 0) continue;
    const Dataset& dataset = snapshot.datasets[d];
    const double pinned = std::min(dataset.pinned_bytes, dataset.most_bytes);
    quotas[d] = std::max(0.0, std::min(pinned, room.For(worth[d].tenant)));
    room.Take(worth[d].tenant, quotas[d]);
  }
  PourPieces(worth, PiecesOf(snapshot, worth, keep_bonus, quotas), room, quotas);
  return quotas;
}

std::vector<double> KeepNearby(const Snapshot& snapshot, std::span<const Reader> readers,
                               std::vector<double> quotas) {
  const Rates none(snapshot.jobs.size(), 0);
  const std::vector<Worth> worth = WorthOf(snapshot, readers, none, {});
  Room room(snapshot);
  std::vector<std::int32_t> tenants;
  std::vector<Flow> kept, rest;
  std::vector<double> least(quotas.size());
  for (std::size_t d = 0; d < quotas.size(); ++d) {
    const Dataset& dataset = snapshot.datasets[d];
    tenants.push_back(std::max(0, worth[d].tenant));
    // A part of what is pinned would not be pinned.
    const double pinned = std::min(quotas[d], dataset.pinned_bytes);
    least[d] = std::max(pinned, (1 - kStays) * quotas[d]);
    room.Take(tenants.back(), least[d]);
    const double most = std::min(
        {(1 + kStays) * quotas[d], dataset.most_bytes, UsefulBytes(dataset.bytes, dataset.hosts)});
    const double stays = std::clamp(dataset.cached_bytes, least[d], std::max(least[d], most));
    kept.push_back({stays - least[d], quotas[d], {}});
    rest.push_back({std::max(0.0, quotas[d] - stays), quotas[d], {}});
  }
  const std::vector<double> first = room.Give(std::move(kept), tenants);
  const std::vector<double> then = room.Give(std::move(rest), tenants);
  for (std::size_t d = 0; d < quotas.size(); ++d) {
    const double kept_or_grown = least[d] + first[d] + then[d];
    // A sum of parts may be a byte less than the whole.
    if (std::abs(kept_or_grown - quotas[d]) > 1e-9 * quotas[d]) quotas[d] = kept_or_grown;
  }
  return quotas;
}

HitShares LastingHits(const Snapshot& snapshot, std::span<const double> quotas) {
  HitShares hits;
  for (const JobView& job : snapshot.jobs) {
    hits.now.push_back(0);
    if (job.dataset < 0) continue;
    const auto d = static_cast<std::size_t>(job.dataset);
    const Dataset& dataset = snapshot.datasets[d];
    hits.now.back() = job.served.empty()
                          ? HitShare(quotas[d], dataset.bytes, dataset.hosts)
                          : HostsHit(DivideOverHosts(quotas[d], dataset.bytes, dataset.hosts),
                                     job.served, dataset.bytes);
  }
  hits.lasting = hits.now;
  return hits;
}

HitShares PresentHits(const Snapshot& snapshot, std::span<const double> quotas) {
  HitShares hits = LastingHits(snapshot, quotas);
  for (std::size_t i = 0; i < hits.now.size(); ++i) {
    if (snapshot.jobs[i].dataset < 0) continue;
    hits.now[i] = std::min(hits.now[i], snapshot.jobs[i].effective_hit);
  }
  return hits;
}

}  // namespace headrace::coordinator
