#include "coordinator/divide_source.h"

#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using Uses = std::vector<std::optional<SourceUse>>;

// Reads of equal size that come by chance, one after the other at the rate.
double MeanWait(double need, double read_bytes, double rate, std::mt19937& random) {
  std::exponential_distribution<double> gap(need / read_bytes);
  constexpr int kReads = 200'000;
  double debt = 0, waited = 0;  // s
  for (int i = 0; i < kReads; ++i) {
    debt = std::max(0.0, debt - gap(random));
    waited += debt;
    debt += read_bytes / rate;
  }
  return waited / kReads;
}

TEST(RateWithRoom, ReadsThatComeByChanceWaitLittle) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const double need : {1e4, 2e5, 1e6}) {
    const double rate = RateWithRoom(need, 1e5);
    EXPECT_NEAR(MeanWait(need, 1e5, rate, random), 0.05, 0.01) << need;
    EXPECT_GT(MeanWait(need, 1e5, 1.25 * need, random), 0.1) << need;
  }
}

TEST(RateWithRoom, ManyReadsNeedLittleMoreThanTheirMean) {
  EXPECT_DOUBLE_EQ(RateWithRoom(1e9, 1e5), 1.25e9);
  EXPECT_DOUBLE_EQ(RateWithRoom(100, 0), 125);
  EXPECT_EQ(RateWithRoom(0, 1e5), 0);
}

TEST(DivideSource, PartsAreEqualUntilSomethingIsKnown) {
  EXPECT_EQ(DivideSource(12, Uses(4), 0), (std::vector<double>{3, 3, 3, 3}));
  EXPECT_TRUE(DivideSource(12, {}, 0).empty());
}

TEST(DivideSource, WhoIsHeldBackGetsWhatOthersDoNotRead) {
  const Uses uses = {SourceUse{1, 0}, SourceUse{3, 0.5}, SourceUse{0, 0}, SourceUse{3, 0.2}};
  const std::vector<double> parts = DivideSource(12, uses, 0);
  EXPECT_DOUBLE_EQ(parts[0], 1.25);
  EXPECT_DOUBLE_EQ(parts[2], 0.3) << "a tenth of an equal part, to show that it needs more";
  EXPECT_DOUBLE_EQ(parts[1], (12 - 1.25 - 0.3) / 2);
  EXPECT_DOUBLE_EQ(parts[3], parts[1]);
  // Its few large reads come by chance.
  EXPECT_DOUBLE_EQ(DivideSource(12, uses, 0.5)[0], RateWithRoom(1, 0.5));
}

TEST(DivideSource, WhatNobodyNeedsIsSpread) {
  const std::vector<double> parts = DivideSource(12, Uses{SourceUse{4, 0}, SourceUse{0, 0}}, 0);
  EXPECT_DOUBLE_EQ(parts[0], 5 + 3.2);
  EXPECT_DOUBLE_EQ(parts[1], 0.6 + 3.2) << "it may need some at any time";
}

TEST(DivideSource, PartsAddUpAndNobodyStandsStill) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random() % 20;
    const double total = std::pow(10, 9 * share(random));
    Uses uses(n);
    for (auto& use : uses) {
      if (share(random) < 0.8) use = SourceUse{2 * total * share(random), share(random) - 0.5};
    }
    const std::vector<double> parts = DivideSource(total, uses, total * share(random));
    EXPECT_NEAR(std::accumulate(parts.begin(), parts.end(), 0.0), total, 1e-9 * total);
    for (const double part : parts) {
      EXPECT_GE(part, 0.0999 * total / static_cast<double>(n));
    }
  }
}

// Four workers, one of which is sent all that must be read. Each reads what it is asked for, up to its
// part; the parts follow in a few periods.
TEST(DivideSource, PartsFollowTheReadsInAFewPeriods) {
  Uses uses(4, SourceUse{2.5, 0});
  std::vector<double> parts;
  for (int period = 0; period < 5; ++period) {
    parts = DivideSource(10, uses, 1e-3);
    for (std::size_t i = 0; i < 4; ++i) {
      const double asked = i == 0 ? 9 : 0;
      const double read = std::min(asked, parts[i]);
      uses[i] = SourceUse{0.5 * uses[i]->rate + 0.5 * read, asked > read ? 1.0 : 0.0};
    }
  }
  EXPECT_GT(parts[0], 8.9);
}

TEST(SteadyParts, SmallChangesAreNotWorthAMessage) {
  const std::vector<double> held = {5, 5};
  EXPECT_EQ(SteadyParts({5.4, 4.6}, held), held);
  EXPECT_EQ(SteadyParts({5.1, 5.05}, held), held);
  EXPECT_THAT(SteadyParts({6, 4}, held), ElementsAre(DoubleEq(5.94), DoubleEq(3.96)));
  EXPECT_THAT(SteadyParts({5, 4.99}, held), ElementsAre(DoubleEq(4.95), DoubleEq(4.9401)))
      << "all together are never more than wanted";
  EXPECT_THAT(SteadyParts({5.2, 5.2}, held), ElementsAre(DoubleEq(5.148), DoubleEq(5.148)));
  EXPECT_THAT(SteadyParts({5, 5}, std::vector<double>{0, 10}), ElementsAre(4.95, 4.95));
}

}  // namespace
}  // namespace headrace::coordinator
