// The share of hits under shuffled epochs, in which each item is asked for once in fresh random order.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

constexpr double kShares[] = {0.1, 0.25, 0.5, 0.75, 0.9};

double HitShare(const std::string& order, double share) {
  constexpr std::size_t kItems = 4000;
  constexpr int kEpochs = 9;  // the first one fills
  ModelCache cache = CacheWith(order, static_cast<std::uint64_t>(share * kItems));
  std::vector<ItemId> items(kItems);
  std::iota(items.begin(), items.end(), ItemId{0});
  std::mt19937 random(11);
  int hits = 0;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    std::shuffle(items.begin(), items.end(), random);
    for (const ItemId id : items) hits += cache.Ask(Plain(id), epoch) && epoch > 0 ? 1 : 0;
  }
  return hits / static_cast<double>(kItems * (kEpochs - 1));
}

// An item hits if fewer different ones than fit were asked for since: x + (1 - x) ln(1 - x), where the
// share x of the data fits.
TEST(Epochs, LruHitsNoMoreThanItsFormula) {
  for (const double x : kShares) {
    EXPECT_NEAR(HitShare("lru", x), x + (1 - x) * std::log1p(-x), 0.01) << x;
  }
}

// SiloD's and CoorDL's bound for one data set: what is cached is hit, once an epoch.
TEST(Epochs, WhatStaysHitsItsShare) {
  for (const double x : kShares) {
    EXPECT_NEAR(HitShare("minio", x), x, 0.02 * x) << x;
    EXPECT_NEAR(HitShare("value", x), x, 0.02 * x) << x;
    EXPECT_NEAR(HitShare("quiver", x), x, 0.02 * x) << x;
  }
}

}  // namespace
}  // namespace headrace::eviction
