#include "coordinator/scaling/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "coordinator/scaling/test_loads.h"

namespace headrace::coordinator {
namespace {

using testing::HasSubstr;
using testing::Not;

// A trainer that takes 1,000 samples/s and waits 99% of its time for decoding: 10 ms a sample, or 1 ms
// from the cache, on 0.1 cores.
JobMeter Waiting(double hits = 0) {
  JobMeter meter;
  wire::SessionLoad load;
  load.session = SessionId(1);
  load.samples = 50;
  load.step_ns = 50'000'000;
  load.stall_ns = load.wait_compute_ns = 4'950'000'000;
  load.hit_samples = static_cast<std::uint64_t>(50 * hits);
  load.miss_samples = 50 - load.hit_samples;
  load.miss_cpu_ns = load.miss_samples * 10'000'000;
  load.hit_cpu_ns = load.hit_samples * 1'000'000;
  ReportPeriods(meter, load, 0.1);
  return meter;
}

TEST(CacheAdvice, AFreeCacheComesBeforeCores) {
  CacheOffer offer{.total = 500e6, .free = 760e6};
  const std::string text = Advice(Waiting(), 0.1, offer);
  EXPECT_THAT(
      text,
      HasSubstr(
          "waits 99%: 99% decode; 500 MB more of cache, which its workers have, "
          "would cut it to 90% (10 times as fast) from the next epoch on, or 10 more cores to 0%"));
  // A part of it: the cache helps in proportion.
  offer.total = 1520e6;
  EXPECT_THAT(Advice(Waiting(), 0.1, offer),
              HasSubstr("760 MB more of cache, which its workers have, would cut it to 98% (1.8 "
                        "times as fast) from"));
}

TEST(CacheAdvice, AFreeCacheComesFirstHoweverLarge) {
  EXPECT_THAT(Advice(Waiting(), 0.1, {.total = 2e12, .free = 2e12}),
              HasSubstr("; 2.0 TB more of cache, which its workers have, would cut it to 90%"));
}

TEST(CacheAdvice, WhatIsToBeAddedIsComparedByItsPrice) {
  // 2 GB cost as much as half a core, and cut more than a tenth of what ten cores do.
  EXPECT_THAT(
      Advice(Waiting(), 0.1, {.total = 2e9}),
      HasSubstr(
          "; 2.0 GB more of cache, which its workers lack (--cache, --cache-tier), "
          "would cut it to 90% (10 times as fast) from the next epoch on, or 10 more cores to 0%"));
  EXPECT_THAT(Advice(Waiting(), 0.1, {.total = 2e12}),
              HasSubstr("; 10 more cores would cut it to 0%, or 2.0 TB more of cache"));
}

TEST(CacheAdvice, WhereThereIsNothingToCacheCoresAloneAreNamed) {
  EXPECT_THAT(Advice(Waiting(), 0.1), Not(HasSubstr("cache")));
  EXPECT_THAT(Advice(Waiting(), 0.1, {.total = 1e9, .granted = 1e9}),
              Not(HasSubstr("more of cache")))
      << "all of it is granted already";
}

TEST(CacheAdvice, SaysThatACacheIsFilling) {
  const std::string text = Advice(Waiting(0.1), 0.1, {.total = 1e9, .granted = 1e9});
  EXPECT_THAT(text,
              HasSubstr("; its cache is filling: it answers 10% of the reads, later 100%, which "
                        "cuts it to 91%"));
  EXPECT_THAT(Advice(Waiting(1), 0.1, {.total = 1e9, .granted = 1e9}), Not(HasSubstr("filling")));
}

// On four hosts the granted bytes hit a quarter, and four times as many are needed.
TEST(CacheAdvice, EachHostNeedsItsOwn) {
  const CacheOffer offer{.total = 1e9, .granted = 1e9, .free = 9e9, .served = {1, 1, 1, 1}};
  const Terms terms{1000, 1e-3, 1e-2, 0};
  TimeShares times;
  times.step = 0.01;
  times.compute = 0.99;
  EXPECT_NEAR(PredictFull(terms, times, 0, 0.1, offer).hit, 0.25, 1e-9);
  const CachePrediction more = PredictCache(terms, times, 0, 0.1, offer);
  EXPECT_NEAR(more.bytes, 3e9, 1);
  EXPECT_TRUE(more.free);
  EXPECT_NEAR(more.hit, 1, 1e-9);
}

// Samples that cost the same from the cache, and a source that is waited for, by itself or by a limit.
TEST(CacheAdvice, AHitSavesTheRead) {
  const Terms terms{1000, 1e-2, 1e-2, 1e5};
  TimeShares slow, limited;
  slow.step = limited.step = 0.01;
  slow.source = limited.queue = limited.limited = 0.99;
  for (const TimeShares& times : {slow, limited}) {
    const CachePrediction half = PredictCache(terms, times, 0, 1, {.total = 1e9, .free = 5e8});
    EXPECT_NEAR(half.bytes, 5e8, 1);
    EXPECT_NEAR(half.wait_share, 0.98, 1e-6) << "half of the reads, so 20 samples/s in place of 10";
  }
}

// Whatever the job, the prediction is what the world then does.
TEST(CacheAdvice, ThePredictionComesTrue) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    const Terms terms{real(50, 5000), real(1e-5, 1e-3), real(2e-3, 2e-2), 0};
    const double slowness = real(1, 2), network = real(0, 0.2) / terms.ready_rate;
    const double hit = real(0, 0.5), total = 1e9;
    const double cores = terms.ready_rate * CostPerSample(terms, hit) * slowness * real(0.1, 0.9);
    const auto world = [&](double share) {
      TimeShares times;
      times.step = 1 / terms.ready_rate;
      const double made = CostPerSample(terms, share) * slowness / cores;
      times.compute = std::max(0.0, made - times.step);
      times.network = network;
      return times;
    };
    const CacheOffer offer{.total = total, .granted = hit * total, .free = real(0, 1) * total};
    const CachePrediction said = PredictCache(terms, world(hit), hit, cores, offer);
    if (said.bytes == 0) continue;
    const TimeShares after = world((offer.granted + said.bytes) / total);
    EXPECT_NEAR(said.wait_share, after.wait() / after.all(), 0.01);
  }
}

}  // namespace
}  // namespace headrace::coordinator
