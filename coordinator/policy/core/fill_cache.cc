#include "coordinator/policy/core/fill_cache.h"

#include <algorithm>
#include <cstdint>

namespace headrace::coordinator {
namespace {

// A cached byte is worth this much more than a byte that must be read first: a slightly better set
// of data sets is not worth an epoch of misses.
constexpr double kKeepBonus = 1.25;

// The worth of a data set.
struct Worth {
  double each = 0;  // what a byte of it saves, at the prices
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

std::vector<double> FillCache(const Snapshot& snapshot, std::span<const Reader> readers,
                              const Rates& rates, const Prices& prices) {
  const std::vector<Worth> worth = WorthOf(snapshot, readers, rates, prices);
  // What is cached and what is not are pieces of different worth. On several hosts a byte brings less.
  struct Piece {
    double value;
    double bytes;
    std::size_t dataset;
  };
  std::vector<double> quotas(worth.size(), 0);
  double left = snapshot.supply.cache_bytes;
  std::vector<double> tenant_left;
  for (const Tenant& each : snapshot.tenants) tenant_left.push_back(each.quota.cache_bytes);
  const auto give = [&](std::size_t d, double bytes) {
    if (worth[d].tenant < 0) return;
    double& own = tenant_left[static_cast<std::size_t>(worth[d].tenant)];
    const double most = snapshot.datasets[d].most_bytes - quotas[d];
    bytes = std::max(0.0, std::min({bytes, left, own, most}));
    quotas[d] += bytes;
    left -= bytes;
    own -= bytes;
  };
  // What is pinned comes first.
  for (std::size_t d = 0; d < worth.size(); ++d) give(d, snapshot.datasets[d].pinned_bytes);
  std::vector<Piece> pieces;
  for (std::size_t d = 0; d < worth.size(); ++d) {
    if (worth[d].each <= 0) continue;
    const Dataset& dataset = snapshot.datasets[d];
    double cached = std::max(0.0, dataset.cached_bytes);
    double given = quotas[d];
    for (const HitPiece& piece : HitPieces(dataset.bytes, dataset.hosts)) {
      const double value = worth[d].each * piece.gain;
      const double kept = std::min(cached, piece.bytes);
      const double already = std::min(given, piece.bytes);
      pieces.push_back({value * kKeepBonus, std::max(0.0, kept - already), d});
      pieces.push_back({value, piece.bytes - std::max(kept, already), d});
      cached -= kept;
      given -= already;
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.value > b.value; });
  for (const Piece& piece : pieces) give(piece.dataset, piece.bytes);
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
