#include "simulate/cache_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "simulate/divide_cache.h"
#include "simulate/random.h"

namespace headrace::simulate {
namespace {

const std::vector<Dataset> kOne = {{"d", 1000}};

// One reader, a cache for half of the data: no hits in the first epoch, half in the second.
TEST(CacheModel, WhatIsCachedCountsInTheNextEpoch) {
  CacheModel cache(kOne, 500);
  const std::size_t d[] = {0};
  const double quota[] = {500};
  cache.SetQuotas(d, quota);
  Reading reading = cache.Begin(0);
  reading.rate = 10;
  Reading* readers[] = {&reading};
  cache.Advance(30, readers);
  EXPECT_DOUBLE_EQ(cache.cached(0), 300);
  EXPECT_DOUBLE_EQ(reading.cached_share, 0);
  EXPECT_DOUBLE_EQ(cache.NextEpoch(reading), 70);
  cache.Advance(70, readers);
  EXPECT_DOUBLE_EQ(cache.cached(0), 500);
  EXPECT_DOUBLE_EQ(reading.cached_share, 0.5);
  EXPECT_DOUBLE_EQ(reading.unread, 1000);
  EXPECT_EQ(cache.NextEpoch(reading), coordinator::kUnlimited) << "nothing changes any more";
  reading.hit = 0.5;
  cache.Advance(250, readers);  // two epochs and a half
  EXPECT_DOUBLE_EQ(reading.unread, 500);
  EXPECT_DOUBLE_EQ(cache.cached(0), 500);
}

// On four hosts the same bytes hit a quarter, and four times as many hit everything.
TEST(CacheModel, HostsDoNotShare) {
  const int hosts[] = {4};
  for (const double quota : {1000.0, 4000.0}) {
    CacheModel cache(kOne, 4000, hosts);
    const std::size_t d[] = {0};
    const double bytes[] = {quota};
    cache.SetQuotas(d, bytes);
    Reading reading = cache.Begin(0);
    reading.rate = 100;
    Reading* readers[] = {&reading};
    for (int epoch = 0; epoch < 60; ++epoch) {
      reading.hit = reading.cached_share;
      cache.Advance(10, readers);
    }
    EXPECT_NEAR(cache.cached(0), quota, 0.01 * quota);
    EXPECT_NEAR(reading.cached_share, quota / 4000, 0.01);
  }
}

// Two readers in step: each can still find all that the other adds. After half an epoch each has
// read half. What is cached is what either has read, so half of what is unread is cached. A
// simulation of samples shows the same.
TEST(CacheModel, ReadersFindWhatOthersHaveAdded) {
  CacheModel cache(kOne, 1000);
  const std::size_t d[] = {0};
  const double quota[] = {1000};
  cache.SetQuotas(d, quota);
  Reading a = cache.Begin(0), b = cache.Begin(0);
  a.rate = b.rate = 1;
  Reading* readers[] = {&a, &b};
  double hits = 0;
  EXPECT_TRUE(cache.Drifts(readers));
  for (int i = 0; i < 1000; ++i) {
    a.hit = a.cached_share;
    b.hit = b.cached_share;
    hits += a.hit + b.hit;
    cache.Advance(1, readers);
  }
  // Simulates the same with samples: two fresh permutations, read in step.
  Random random(3);
  std::vector<int> first(1000), second(1000);
  std::iota(first.begin(), first.end(), 0);
  second = first;
  const auto shuffle = [&](std::vector<int>& order) {
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.Uniform() * i)]);
    }
  };
  double simulated = 0;
  constexpr int kRuns = 20;
  for (int run = 0; run < kRuns; ++run) {
    shuffle(first);
    shuffle(second);
    std::vector<bool> cached(1000, false);
    for (std::size_t i = 0; i < 1000; ++i) {
      for (const int sample : {first[i], second[i]}) {
        simulated += cached[static_cast<std::size_t>(sample)];
        cached[static_cast<std::size_t>(sample)] = true;
      }
    }
  }
  EXPECT_NEAR(hits / 2000, simulated / kRuns / 2000, 0.01);
  EXPECT_NEAR(cache.cached(0), 1000, 1);
}

TEST(CacheModel, WhatIsOverItsQuotaStaysUntilTheRoomIsNeeded) {
  const std::vector<Dataset> two = {{"a", 1000}, {"b", 1000}};
  CacheModel cache(two, 600);
  std::size_t d[] = {0};
  double quota[] = {600};
  cache.SetQuotas(d, quota);
  Reading a = cache.Begin(0), b = cache.Begin(1);
  a.rate = 10;
  Reading* first[] = {&a};
  cache.Advance(100, first);
  EXPECT_DOUBLE_EQ(a.cached_share, 0.6);
  d[0] = 1;
  quota[0] = 400;
  cache.SetQuotas(d, quota);
  EXPECT_DOUBLE_EQ(cache.cached(0), 600);
  a.hit = 0.6;
  b.rate = 10;
  Reading* both[] = {&a, &b};
  EXPECT_TRUE(cache.Drifts(both));
  cache.Advance(10, both);  // b adds 100, which are taken from a
  EXPECT_DOUBLE_EQ(cache.cached(0), 500);
  EXPECT_DOUBLE_EQ(cache.cached(1), 100);
  EXPECT_NEAR(a.cached_share, 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(cache.total_cached(), 600);
}

// Compares real least-recently-used caches over shuffled epochs with the formula for them.
TEST(HitOf, TheLruCurveIsThatOfARealCache) {
  constexpr int kSamples = 4000;
  for (const double x : {0.25, 0.5, 0.65, 0.9}) {
    const auto capacity = static_cast<std::size_t>(x * kSamples);
    Random random(11);
    std::list<int> recent;
    std::unordered_map<int, std::list<int>::iterator> where;
    std::vector<int> order(kSamples);
    std::iota(order.begin(), order.end(), 0);
    double hits = 0;
    constexpr int kEpochs = 12;
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.Uniform() * i)]);
      }
      for (const int sample : order) {
        const auto it = where.find(sample);
        if (it != where.end()) {
          hits += epoch >= 2;
          recent.erase(it->second);
        } else if (recent.size() == capacity) {
          where.erase(recent.back());
          recent.pop_back();
        }
        recent.push_front(sample);
        where[sample] = recent.begin();
      }
    }
    EXPECT_NEAR(hits / kSamples / (kEpochs - 2), HitOf(CacheMode::kLru, x), 0.01) << x;
    EXPECT_DOUBLE_EQ(HitOf(CacheMode::kMinio, x), x);
  }
}

CacheUser User(std::size_t dataset, double bytes, double rate, int gpus = 1) {
  // 1000 samples/s at most, of 1 byte.
  return {dataset, bytes, 1, gpus, {1000, 0, 0, 1}, 1, rate};
}

TEST(DivideCache, LruFollowsTheRatesOfReading) {
  Cluster cluster;
  cluster.cache_bytes = 300;
  const CacheUser users[] = {User(2, 1000, 10), User(5, 1000, 20), User(7, 40, 30)};
  const CacheQuotas quotas = DivideCache(CacheMode::kLru, cluster, users);
  EXPECT_EQ(quotas.datasets, (std::vector<std::size_t>{2, 5, 7}));
  EXPECT_NEAR(quotas.bytes[0], 260.0 / 3, 1e-9);
  EXPECT_NEAR(quotas.bytes[1], 520.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(quotas.bytes[2], 40);
}

TEST(DivideCache, MinioGoesByGpus) {
  Cluster cluster;
  cluster.gpus = 10;
  cluster.cache_bytes = 1000;
  const CacheUser users[] = {User(0, 1e6, 1, 2), User(1, 150, 1, 4), User(0, 1e6, 1, 1)};
  EXPECT_EQ(DivideCache(CacheMode::kMinio, cluster, users).bytes, (std::vector<double>{300, 150}));
}

// Each has 100 bytes/s. An epoch takes bytes / 100 s uncached, and bytes / 1000 s cached. The
// saving for each byte is the same for one job, and twice as much for two.
TEST(DivideCache, QuiverTakesWholeDataSetsByBenefit) {
  Cluster cluster;
  cluster.cache_bytes = 1000;
  cluster.source_rate = 300;
  const CacheUser users[] = {User(0, 800, 1), User(1, 700, 1), User(1, 700, 1)};
  EXPECT_EQ(DivideCache(CacheMode::kQuiver, cluster, users).bytes, (std::vector<double>{300, 700}));
  cluster.source_rate = coordinator::kUnlimited;
  EXPECT_EQ(DivideCache(CacheMode::kQuiver, cluster, users).bytes, (std::vector<double>{0, 0}))
      << "nothing is saved";
}

// Of two data sets with equal files, the one whose entries are four times as large saves a quarter a byte.
TEST(DivideCache, QuiverCountsWhatEntriesTake) {
  Cluster cluster;
  cluster.cache_bytes = 900;
  cluster.source_rate = 300;
  CacheUser large = User(0, 800, 1);
  large.entry_bytes = 4;
  const CacheUser users[] = {large, User(1, 200, 1)};
  EXPECT_EQ(DivideCache(CacheMode::kQuiver, cluster, users).bytes, (std::vector<double>{700, 200}));
}

}  // namespace
}  // namespace headrace::simulate
