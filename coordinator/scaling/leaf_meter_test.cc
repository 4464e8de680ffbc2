#include "coordinator/scaling/leaf_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace headrace::coordinator {
namespace {

// A program whose stages keep leaves on one worker, period by period. As in lanes: nothing is kept in the first
// epoch, what is handed over is found in the next one, and lookups are told of every other period.
class StageWorld {
 public:
  struct Facts {
    double samples = 2000;     // of an epoch
    double rate = 100;         // samples a period
    double lookups = 1;        // a sample, of what is worth keeping
    double others = 0;         // lookups a sample of what is not
    double entry_bytes = 4e5;  // mean
    double entry_s = 5e-3;     // that making one takes
    double other_s = 2e-3;     // that a sample takes beside its leaves
    double room = 1e9;         // quota
  };
  explicit StageWorld(const Facts& facts) : facts_(facts) {}

  void Period() {
    Facts& f = facts_;
    const double lookups = f.rate * f.lookups;
    const double hits = lookups * std::min(1.0, findable_ / entries_of_all());
    hits_ += hits;
    misses_ += lookups - hits + f.rate * f.others;
    if (epoch() > 0) {
      const double fits = f.room / f.entry_bytes;
      const double left = std::max(0.0, entries_of_all() - findable_);
      added_ = std::min({added_ + lookups - hits, left, std::max(0.0, fits - findable_)});
    }
    cpu_s_ = f.rate * f.other_s + (lookups - hits) * f.entry_s + hits * FindSeconds();
    const std::uint64_t before = epoch();
    samples_ += f.rate;
    if (epoch() != before) {
      findable_ += added_;
      added_ = 0;
    }
    meter_.ReportLoads({Load()});
    if (++periods_ % 2 == 0) {
      meter_.ReportLookups(hits_, misses_);
      hits_ = misses_ = 0;
    }
    const double entries = findable_ + added_;
    meter_.Hold({.entries = entries,
                 .bytes = entries * f.entry_bytes,
                 .room = entries * f.entry_bytes,
                 .quota = f.room,
                 .made_s = entries * f.entry_s,
                 .workers = entries > 0 ? 1.0 : 0.0});
    meter_.EndPeriod(f.rate);
  }
  void Epochs(double count) {
    const double end = samples_ + count * facts_.samples;
    while (samples_ < end) Period();
  }
  // What quotas that shrink leave.
  void SetRoom(double room) {
    facts_.room = room;
    findable_ = std::min(findable_, room / facts_.entry_bytes);
    added_ = 0;
  }

  [[nodiscard]] std::uint64_t epoch() const {
    return static_cast<std::uint64_t>(samples_ / facts_.samples);
  }
  [[nodiscard]] double entries_of_all() const { return facts_.samples * facts_.lookups; }
  [[nodiscard]] double bytes_of_all() const { return entries_of_all() * facts_.entry_bytes; }
  [[nodiscard]] double saved() const { return facts_.lookups * (facts_.entry_s - FindSeconds()); }
  [[nodiscard]] double hit() const { return std::min(1.0, findable_ / entries_of_all()); }
  [[nodiscard]] const LeafMeter& meter() const { return meter_; }
  // As a job's meter has measured it: all samples together.
  [[nodiscard]] Terms Whole() const { return {100, 0, cpu_s_ / facts_.rate, 1e5 * (1 - hit()), 0}; }
  [[nodiscard]] Terms True() const {
    const double found = facts_.other_s + facts_.lookups * FindSeconds();
    return {100, found, found + saved(), 1e5, 0};
  }

 private:
  [[nodiscard]] double FindSeconds() const {
    return LeafMeter::kFindSeconds + LeafMeter::kFindSecondsPerByte * facts_.entry_bytes;
  }
  [[nodiscard]] wire::SessionLoad Load() const {
    wire::SessionLoad load;
    load.session = SessionId(1);
    load.samples = static_cast<std::uint64_t>(samples_);
    load.iterations = epoch() + 1;
    return load;
  }

  Facts facts_;
  LeafMeter meter_;
  double samples_ = 0, findable_ = 0, added_ = 0, hits_ = 0, misses_ = 0, cpu_s_ = 0;
  int periods_ = 0;
};

TEST(LeafMeter, KnowsNothingBeforeAnythingIsKept) {
  LeafMeter meter;
  for (int i = 0; i < 5; ++i) {
    meter.ReportLookups(0, 100);
    meter.EndPeriod(100);
  }
  EXPECT_FALSE(meter.known());
  EXPECT_EQ(meter.bytes(), std::nullopt);
  EXPECT_EQ(meter.hit(), 0);
}

TEST(LeafMeter, APeriodWithoutAnythingIsNoNumberOutOfNothing) {
  LeafMeter meter;
  meter.EndPeriod(0);
  EXPECT_EQ(meter.hit(), 0);
  EXPECT_EQ(meter.saved(), 0);
  meter.Hold({.entries = 3, .bytes = 300, .room = 300, .quota = 300, .made_s = 1, .workers = 1});
  meter.EndPeriod(0);
  EXPECT_FALSE(meter.known());
}

TEST(LeafMeter, TermsAreThoseOfHitsAndMissesAtAnyShare) {
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    StageWorld world({.room = part * 2000 * 4e5 + 1e6});
    world.Epochs(6);
    ASSERT_TRUE(world.meter().known());
    EXPECT_NEAR(world.meter().hit(), part, 0.02);
    const Terms terms = world.meter().TermsOf(world.Whole());
    const Terms want = world.True();
    EXPECT_NEAR(terms.hit_cost, want.hit_cost, 0.05 * want.miss_cost) << part;
    EXPECT_NEAR(terms.miss_cost, want.miss_cost, 0.05 * want.miss_cost) << part;
    if (part < 0.8) {
      EXPECT_NEAR(terms.miss_bytes, 1e5, 5e3) << part;
    }
    ASSERT_TRUE(world.meter().bytes());
    EXPECT_NEAR(*world.meter().bytes(), world.bytes_of_all(), 0.1 * world.bytes_of_all()) << part;
  }
}

TEST(LeafMeter, TheSizeIsKnownOnceAnIterationHasPassedWhateverIsKept) {
  StageWorld world({.room = 2e7});
  world.Epochs(1.3);
  ASSERT_TRUE(world.meter().bytes());
  EXPECT_NEAR(*world.meter().bytes(), world.bytes_of_all(), 0.1 * world.bytes_of_all());
}

TEST(LeafMeter, WhatIsNeverKeptIsNoPartOfTheSizeOnceAllElseIsThere) {
  StageWorld world({.others = 3});
  world.Epochs(8);
  EXPECT_NEAR(world.meter().hit(), 1, 0.02) << "of what is worth keeping";
  EXPECT_NEAR(world.meter().lookups_a_sample(), 1, 0.05);
  EXPECT_NEAR(*world.meter().bytes(), world.bytes_of_all(), 0.1 * world.bytes_of_all());
  world.SetRoom(world.bytes_of_all() / 2);
  world.Epochs(4);
  EXPECT_NEAR(world.meter().hit(), 0.5, 0.05) << "what was learned holds";
  EXPECT_NEAR(*world.meter().bytes(), world.bytes_of_all(), 0.1 * world.bytes_of_all());
}

TEST(LeafMeter, WhatOthersHoldIsNotCountedTwice) {
  LeafMeter meter;
  wire::SessionLoad load;
  load.session = SessionId(1);
  for (int second = 0; second < 200; ++second) {
    load.samples += 100;
    load.iterations = load.samples / 2000 + 1;
    meter.ReportLoads({load});
    meter.ReportLookups(98, 2);
    // It has made 20 of the 2000 entries that it finds.
    meter.Hold(
        {.entries = 20, .bytes = 8e6, .room = 8e6, .quota = 8e6, .made_s = 0.1, .workers = 1});
    meter.EndPeriod(100);
  }
  ASSERT_TRUE(meter.bytes());
  EXPECT_LT(*meter.bytes(), 1e7);
}

TEST(LeafMeter, AWorkerThatDoesNotTellCostsSavesNothing) {
  LeafMeter meter;
  meter.ReportLookups(50, 50);
  meter.Hold({.entries = 20, .bytes = 8e6, .room = 8e6, .quota = 8e6, .workers = 1});
  meter.EndPeriod(100);
  EXPECT_EQ(meter.saved(), 0);
  const Terms terms = meter.TermsOf({100, 0, 0.01, 1000, 0});
  EXPECT_DOUBLE_EQ(terms.hit_cost, 0.01);
  EXPECT_DOUBLE_EQ(terms.miss_cost, 0.01);
}

class LeafMeterProperty : public testing::TestWithParam<std::uint64_t> {};

// Whatever the program: finite, not negative, and near to the truth once two epochs have passed since the first.
TEST_P(LeafMeterProperty, IsSaneAlwaysAndRightAfterTwoEpochs) {
  std::mt19937_64 random(GetParam());
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  const auto real = [&](double least, double most) {
    return std::exp(
        std::uniform_real_distribution<double>(std::log(least), std::log(most))(random));
  };
  StageWorld::Facts facts;
  facts.samples = real(300, 20000);
  facts.rate = real(0.005, 0.08) * facts.samples;
  facts.lookups = real(0.1, 8);
  facts.entry_bytes = real(1e4, 1e7);
  facts.entry_s = real(5e-4, 0.3) + LeafMeter::kFindSecondsPerByte * facts.entry_bytes;
  facts.other_s = real(1e-4, 0.05);
  if (random() % 2 == 0) facts.others = real(0.1, 3);
  const double all = facts.samples * facts.lookups * facts.entry_bytes;
  facts.room = all * std::uniform_real_distribution<double>(0.02, 1.5)(random) + 1e7;
  StageWorld world(facts);
  const auto step = [&] {
    world.Period();
    const LeafMeter& meter = world.meter();
    ASSERT_GE(meter.hit(), 0);
    ASSERT_LE(meter.hit(), 1);
    ASSERT_TRUE(std::isfinite(meter.saved()) && meter.saved() >= 0);
    const double bytes = meter.bytes().value_or(0);
    ASSERT_TRUE(std::isfinite(bytes) && bytes >= 0);
    if (!meter.known()) return;
    const Terms terms = meter.TermsOf(world.Whole());
    for (const double value : {terms.hit_cost, terms.miss_cost, terms.miss_bytes}) {
      ASSERT_TRUE(std::isfinite(value) && value >= 0);
    }
    ASSERT_LE(terms.hit_cost, terms.miss_cost);
  };
  while (world.epoch() < 3) ASSERT_NO_FATAL_FAILURE(step());
  const auto bytes = world.meter().bytes();
  ASSERT_TRUE(bytes);
  // What is never kept looks like what is not there yet, so size and savings are too large alike until all is
  // there: what a byte saves is right at once.
  const double density = world.meter().saved() / *bytes,
               want = world.saved() / world.bytes_of_all();
  EXPECT_NEAR(density, want, 0.15 * want);
  if (facts.others == 0) {
    EXPECT_NEAR(*bytes, world.bytes_of_all(), 0.1 * world.bytes_of_all());
  }
  while (world.epoch() < 9) ASSERT_NO_FATAL_FAILURE(step());
  // It may shrink and grow at any time.
  for (int change = 0; change < 6; ++change) {
    world.SetRoom(all * std::uniform_real_distribution<double>(0.02, 1.5)(random) + 1e7);
    for (int period = 0; period < 30; ++period) ASSERT_NO_FATAL_FAILURE(step());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LeafMeterProperty, testing::Range<std::uint64_t>(1, 61));

}  // namespace
}  // namespace headrace::coordinator
