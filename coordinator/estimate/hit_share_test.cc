#include "coordinator/estimate/hit_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(HitShare, AHostHitsWhatItHasItself) {
  const std::vector<double> served = {3, 1};
  EXPECT_DOUBLE_EQ(HostsHit(std::vector<double>{100, 0}, served, 100), 0.75);
  EXPECT_DOUBLE_EQ(HostsHit(std::vector<double>{50, 100}, served, 100), 0.75 * 0.5 + 0.25);
  EXPECT_DOUBLE_EQ(HostsHit(std::vector<double>{900, 900}, served, 100), 1);
  EXPECT_DOUBLE_EQ(HostsHit(std::vector<double>{100}, std::vector<double>{0}, 100), 0);
}

TEST(HitShare, OnKHostsTheSameBytesHitAKth) {
  for (const int k : {1, 2, 4, 8}) {
    const std::vector<CacheHost> hosts(static_cast<std::size_t>(k));
    EXPECT_DOUBLE_EQ(HitShare(100, 100, hosts), 1.0 / k);
    EXPECT_DOUBLE_EQ(HitShare(100.0 * k, 100, hosts), 1);
    EXPECT_DOUBLE_EQ(UsefulBytes(100, hosts), 100.0 * k);
  }
  EXPECT_DOUBLE_EQ(HitShare(25, 100, {}), 0.25) << "not known where: one cache";
}

TEST(HitShare, BytesGoWhereBatchesAreMade) {
  const std::vector<CacheHost> hosts = {{3}, {1}, {0}};
  EXPECT_THAT(DivideOverHosts(80, 100, hosts), ElementsAre(60, 20, 0));
  // The first is full with all of the data; the rest is of use on the second.
  EXPECT_THAT(DivideOverHosts(160, 100, hosts), ElementsAre(100, 60, 0));
  EXPECT_THAT(DivideOverHosts(900, 100, hosts), ElementsAre(100, 100, 0));
  const std::vector<CacheHost> small = {{3, 30}, {1, 40}};
  EXPECT_THAT(DivideOverHosts(60, 100, small), ElementsAre(30, 30));
  EXPECT_THAT(DivideOverHosts(900, 100, small), ElementsAre(30, 40));
}

// Over random hosts: nothing is lost, no bound is exceeded, more bytes never hit less, and the pieces
// add up to the same function.
TEST(HitShare, HoldsOverRandomHosts) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    const double total = real(1, 1000);
    std::vector<CacheHost> hosts(1 + seed % 7);
    for (CacheHost& host : hosts) {
      host.served = real(0, 1) < 0.2 ? 0 : real(0, 10);
      host.room = real(0, 1) < 0.3 ? kUnlimited : real(0, 1.5) * total;
    }
    const double useful = UsefulBytes(total, hosts);
    double last = 0;
    for (const double quota : {0.0, 0.1 * useful, 0.5 * useful, useful, 2 * useful + 1}) {
      const std::vector<double> bytes = DivideOverHosts(quota, total, hosts);
      EXPECT_NEAR(Sum(bytes), std::min(quota, useful), 1e-9 * total);
      for (std::size_t h = 0; h < hosts.size(); ++h) {
        EXPECT_GE(bytes[h], 0);
        EXPECT_LE(bytes[h], std::min(hosts[h].room, total) * (1 + 1e-12));
      }
      const double hit = HitShare(quota, total, hosts);
      EXPECT_GE(hit, last - 1e-12);
      EXPECT_LE(hit, 1 + 1e-12);
      last = hit;
    }
    double filled = 0, gained = 0, before = kUnlimited;
    for (const HitPiece& piece : HitPieces(total, hosts)) {
      EXPECT_LE(piece.gain, before);
      before = piece.gain;
      filled += piece.bytes;
      gained += piece.bytes * piece.gain / total;
      // Where a piece would gain more than the one before, it counts as that one: never too much.
      EXPECT_LE(gained, HitShare(filled, total, hosts) + 1e-9);
    }
    EXPECT_NEAR(filled, useful, 1e-9 * total);
  }
}

TEST(HitShare, PiecesOfEqualHosts) {
  const std::vector<HitPiece> pieces = HitPieces(100, std::vector<CacheHost>(4));
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_DOUBLE_EQ(pieces[0].bytes, 400);
  EXPECT_DOUBLE_EQ(pieces[0].gain, 0.25);
  const std::vector<CacheHost> uneven = {{3}, {1}};
  const std::vector<HitPiece> two = HitPieces(100, uneven);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_DOUBLE_EQ(two[0].bytes * two[0].gain / 100, HitShare(two[0].bytes, 100, uneven));
  EXPECT_DOUBLE_EQ((two[1].bytes * two[1].gain + two[0].bytes * two[0].gain) / 100, 1);
}

}  // namespace
}  // namespace headrace::coordinator
