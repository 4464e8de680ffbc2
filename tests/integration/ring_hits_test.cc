// What the estimator says of a cache on several hosts, against the rings that workers find owners with.
// Samples and workers are counted one by one; time and bytes on sockets are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "coordinator/estimate/hit_share.h"
#include "dataworker/peers/peer_ring.h"

namespace headrace {
namespace {

using dataworker::EntryId;
using dataworker::PeerRing;

constexpr std::size_t kSamples = 20'000;
constexpr std::size_t kBatch = 32;

// Workers on hosts, as many on each, and each with room for so many samples. Batches go to the workers by
// their weights.
struct Place {
  int workers;
  int hosts;
  std::vector<double> served;  // by host, weights
};

// The share of reads that hit in the last epoch.
double Measure(const Place& place, const std::vector<double>& room, std::mt19937& rng) {
  const auto hosts = static_cast<std::size_t>(place.hosts);
  const std::size_t each = static_cast<std::size_t>(place.workers) / hosts;
  // By host: the owner of each sample among its workers, and whether it is there.
  std::vector<std::vector<std::size_t>> owner(hosts);
  std::vector<std::vector<bool>> there(hosts, std::vector<bool>(kSamples, false));
  std::vector<std::vector<std::size_t>> left(hosts);
  for (std::size_t h = 0; h < hosts; ++h) {
    std::vector<PeerRing::Member> members;
    for (std::size_t w = 0; w < each; ++w) {
      members.push_back({WorkerId(static_cast<std::int64_t>(h * each + w + 1)), 1000});
      left[h].push_back(static_cast<std::size_t>(room[h] / static_cast<double>(each)));
    }
    const PeerRing ring(members);
    for (std::size_t s = 0; s < kSamples; ++s) {
      const EntryId id{.place = {s * 0x9e3779b97f4a7c15, s}};
      owner[h].push_back(static_cast<std::size_t>(ring.OwnerOf(id).value - 1) - h * each);
    }
  }
  std::vector<std::size_t> order(kSamples);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::discrete_distribution<std::size_t> host_of(place.served.begin(), place.served.end());
  // A host must have met each sample: it sees a part of them in an epoch.
  const int epochs = place.hosts == 1 ? 3 : 12 * place.hosts;
  std::size_t hits = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), rng);
    hits = 0;
    for (std::size_t at = 0; at < kSamples; at += kBatch) {
      const std::size_t h = host_of(rng);
      for (std::size_t i = at; i < std::min(at + kBatch, kSamples); ++i) {
        const std::size_t s = order[i];
        if (there[h][s]) {
          ++hits;
        } else if (left[h][owner[h][s]] > 0) {
          --left[h][owner[h][s]];
          there[h][s] = true;
        }
      }
    }
  }
  return static_cast<double>(hits) / kSamples;
}

TEST(RingHits, AreWhatTheEstimatorSays) {
  for (const int hosts : {1, 2, 4}) {
    for (const int workers : {1, 2, 4, 8, 16}) {
      if (workers < hosts) continue;
      for (const double share : {0.3, 0.7, 1.0}) {  // of the data, for each host
        SCOPED_TRACE(testing::Message() << workers << " workers, " << hosts << " hosts, " << share);
        std::mt19937 rng(static_cast<unsigned>(hosts * 100 + workers));
        Place place{workers, hosts, std::vector<double>(static_cast<std::size_t>(hosts), 1)};
        if (hosts == 2) place.served = {2, 1};
        std::vector<coordinator::CacheHost> known;
        for (const double served : place.served) known.push_back({served});
        const double quota = share * hosts * kSamples;
        const std::vector<double> room = coordinator::DivideOverHosts(quota, kSamples, known);
        const double measured = Measure(place, room, rng);
        EXPECT_NEAR(measured, coordinator::HitShare(quota, kSamples, known), 0.02);
      }
    }
  }
}

}  // namespace
}  // namespace headrace
