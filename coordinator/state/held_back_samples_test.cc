#include "coordinator/state/held_back_samples.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "schemas/wire/bad_samples.h"

namespace headrace::coordinator {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

wire::BadSample Sample(std::uint64_t data_set, std::int64_t row) {
  return {.data_set = data_set, .row = row, .cause = "264 MB", .held_back = true};
}

TEST(HeldBackSamples, OfOneDataSetThereAreAsManyAsAMessageNames) {
  HeldBackSamples samples;
  for (std::int64_t row = 0; row < 1000; ++row) samples.Add(Sample(1, row));
  EXPECT_THAT(samples.Of({1}), SizeIs(wire::kMostBadSamples));
  EXPECT_FALSE(samples.Takes(Sample(1, 2000)));
  EXPECT_FALSE(samples.Takes(Sample(1, 5))) << "it is here";
  EXPECT_TRUE(samples.Takes(Sample(2, 5)));
  EXPECT_THAT(samples.Of({2}), IsEmpty());
}

TEST(HeldBackSamples, WhoFillsThemPushesOutNobodyElses) {
  HeldBackSamples samples;
  samples.Add(Sample(1, 7));
  for (std::uint64_t liar = 100; liar < 300; ++liar) {
    for (std::int64_t row = 0; row < 1000; ++row) samples.Add(Sample(liar, row));
  }
  EXPECT_THAT(samples.All(), SizeIs(HeldBackSamples::kMost));
  EXPECT_THAT(samples.Of({1}), SizeIs(1));
  ASSERT_TRUE(samples.Takes(Sample(2, 0)));
  samples.Add(Sample(2, 0));
  EXPECT_THAT(samples.All(), SizeIs(HeldBackSamples::kMost));
  EXPECT_EQ(samples.Of({2}), std::vector{Sample(2, 0)});
  EXPECT_THAT(samples.Of({1}), SizeIs(1));
}

TEST(HeldBackSamples, TheOldestOfTheLargestDataSetGoes) {
  HeldBackSamples samples;
  samples.Add(Sample(5, 99));
  for (std::int64_t row = 0; row < 63; ++row) samples.Add(Sample(5, row));
  for (std::uint64_t data_set = 1000; samples.All().size() < HeldBackSamples::kMost; ++data_set) {
    samples.Add(Sample(data_set, 0));
  }
  samples.Add(Sample(1, 0));
  const auto left = samples.Of({5});
  EXPECT_THAT(left, SizeIs(63));
  for (const wire::BadSample& each : left) EXPECT_NE(each.row, 99);
}

TEST(HeldBackSamples, WhatIsWrittenDownMakesTheSameAgain) {
  std::mt19937 rng(1);
  HeldBackSamples samples;
  for (int i = 0; i < 20'000; ++i) {
    samples.Add(Sample(rng() % 200, static_cast<std::int64_t>(rng() % 60)));
  }
  HeldBackSamples again;
  for (const wire::BadSample& each : samples.All()) again.Add(each);
  EXPECT_EQ(again.All(), samples.All());
  // Also in what goes next.
  for (std::uint64_t data_set = 5000; data_set < 5100; ++data_set) {
    samples.Add(Sample(data_set, 1));
    again.Add(Sample(data_set, 1));
  }
  EXPECT_EQ(again.All(), samples.All());
}

}  // namespace
}  // namespace headrace::coordinator
