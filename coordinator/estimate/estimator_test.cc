#include "coordinator/estimate/estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace headrace::coordinator {
namespace {

constexpr Terms kJob{1000, 0.001, 0.011, 1e5};

TEST(Estimator, TheSlowestOfThreeDecides) {
  EXPECT_DOUBLE_EQ(Throughput(kJob, 100, 0, kUnlimited), 1000);  // the trainer
  EXPECT_DOUBLE_EQ(Throughput(kJob, 5.5, 0, kUnlimited), 500);   // 5.5 / 0.011
  EXPECT_DOUBLE_EQ(Throughput(kJob, 100, 0, 2e7), 200);          // 2e7 / 1e5
  // Half of the reads hit: 0.006 core-seconds and 5e4 bytes a sample.
  EXPECT_DOUBLE_EQ(Throughput(kJob, 3, 0.5, kUnlimited), 500);
  EXPECT_DOUBLE_EQ(Throughput(kJob, 100, 0.5, 2e7), 400);
  EXPECT_DOUBLE_EQ(Throughput(kJob, 100, 1, 0), 1000);  // no source is needed
  EXPECT_DOUBLE_EQ(Throughput(kJob, 0, 1, 0), 0);
}

TEST(Estimator, TheInversesAreInverse) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    const Terms terms{real(10, 1e4), real(1e-5, 1e-3), real(1e-3, 1e-1), real(1e3, 1e6)};
    const double hit = real(0, 0.99), rate = real(1, terms.ready_rate);
    const double cores = CoresFor(terms, rate, hit);
    const double source = SourceRateFor(terms, rate, hit);
    EXPECT_NEAR(Throughput(terms, cores, hit, kUnlimited), rate, 1e-9 * rate);
    EXPECT_NEAR(Throughput(terms, 1e9, hit, source), rate, 1e-9 * rate);
    EXPECT_LE(Throughput(terms, cores * 0.9, hit, source), rate);
  }
}

// 600 kB a sample over 60 MB/s are 100 samples/s.
constexpr Terms kSends{1000, 0.001, 0.01, 1e5, 6e5};

TEST(Estimator, TheNetworkCarriesWhatTheOwnHostDoesNotMake) {
  EXPECT_DOUBLE_EQ(Throughput(kSends, 10, 0, kUnlimited, {6e7, 0}), 100);
  EXPECT_DOUBLE_EQ(Throughput(kSends, 10, 0, kUnlimited, {6e7, 2}), 300) << "200 on the own host";
  EXPECT_DOUBLE_EQ(Throughput(kSends, 2, 0, kUnlimited, {6e7, 8}), 200) << "the cores bind";
  EXPECT_DOUBLE_EQ(Throughput(kSends, 10, 0, 1e6, {6e7, 2}), 10) << "the source binds";
  EXPECT_DOUBLE_EQ(Throughput(kSends, 10, 0, kUnlimited, {1e12, 0}), 1000);
  EXPECT_DOUBLE_EQ(Throughput(kSends, 10, 0, kUnlimited, {0, 0}), 0);
  EXPECT_DOUBLE_EQ(Throughput(kSends, 10, 0, kUnlimited), 1000) << "no link is known";
  EXPECT_DOUBLE_EQ(Throughput(kJob, 11, 0, kUnlimited, {1, 0}), 1000) << "nothing is measured";
}

TEST(Estimator, CoresOfUseAreThoseWhoseSamplesArrive) {
  EXPECT_DOUBLE_EQ(CoresOfUse(kSends, 0, {6e7, 2}), 3);
  EXPECT_DOUBLE_EQ(CoresOfUse(kSends, 1, {6e7, 2}), 2.1) << "hits are cheap, and as large";
  EXPECT_DOUBLE_EQ(CoresOfUse(kSends, 0, {}), kUnlimited);
  EXPECT_DOUBLE_EQ(CoresOfUse(kJob, 0, {6e7, 2}), kUnlimited);
}

TEST(Estimator, MoreOfTheNetworkIsNeverSlowerAndMoreCoresThanOfUseNeverFaster) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    const Terms terms{real(10, 1e4), real(1e-5, 1e-3), real(1e-3, 1e-1), 0, real(1e3, 1e6)};
    const double hit = real(0, 1), cores = real(0, 50);
    const NetworkShare share{real(0, 1e9), real(0, 10)};
    const double rate = Throughput(terms, cores, hit, kUnlimited, share);
    EXPECT_GE(Throughput(terms, cores, hit, kUnlimited, {share.rate * 1.5, share.own_cores}), rate);
    EXPECT_GE(Throughput(terms, cores, hit, kUnlimited, {share.rate, share.own_cores + 1}), rate);
    const double most = CoresOfUse(terms, hit, share);
    const double best = Throughput(terms, most, hit, kUnlimited, share);
    EXPECT_NEAR(Throughput(terms, most * 2, hit, kUnlimited, share), best, 1e-9 * best);
    // What crosses for that rate is what there is, and no more.
    const double sent = NetworkRateFor(terms, best, hit, share.own_cores);
    EXPECT_LE(sent, share.rate * (1 + 1e-9));
    if (best < terms.ready_rate) {
      EXPECT_NEAR(sent, share.rate, 1e-6 * share.rate + 1e-3);
    }
  }
}

// Compares the least-recently-used curve with a real cache that is read in fresh random order.
TEST(Estimator, LruCurveIsWhatACacheDoes) {
  std::mt19937 rng(20260101);
  constexpr std::size_t kItems = 4000;
  for (const double x : {0.25, 0.5, 0.65, 0.9}) {
    const auto room = static_cast<std::size_t>(x * kItems);
    std::vector<std::size_t> last_use(kItems, 0), order(kItems);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::size_t now = 0, hits = 0, reads = 0;
    std::vector<bool> in(kItems, false);
    std::vector<std::pair<std::size_t, std::size_t>> queue;  // (time, item), stale ones are skipped
    std::size_t head = 0, size = 0;
    for (int epoch = 0; epoch < 12; ++epoch) {
      std::shuffle(order.begin(), order.end(), rng);
      for (const std::size_t item : order) {
        ++now;
        const bool hit = in[item];
        if (epoch >= 2) {
          ++reads;
          hits += hit ? 1 : 0;
        }
        last_use[item] = now;
        queue.emplace_back(now, item);
        if (hit) continue;
        in[item] = true;
        if (++size <= room) continue;
        while (last_use[queue[head].second] != queue[head].first || !in[queue[head].second]) ++head;
        in[queue[head++].second] = false;
        --size;
      }
    }
    const double measured = static_cast<double>(hits) / static_cast<double>(reads);
    EXPECT_NEAR(measured, LruHit(x * kItems, kItems), 0.01) << "x=" << x;
  }
  EXPECT_DOUBLE_EQ(LruHit(1, 1), 1);
  EXPECT_DOUBLE_EQ(LruHit(0, 1), 0);
  EXPECT_DOUBLE_EQ(UniformHit(3, 4), 0.75);
}

}  // namespace
}  // namespace headrace::coordinator
