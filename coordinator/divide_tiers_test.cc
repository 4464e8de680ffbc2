#include "coordinator/divide_tiers.h"

#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

using Shares = std::vector<wire::TierBytes>;

const Shares kTiers{{"memory", 100}, {"disk", 1000}};

TEST(DivideTiers, OneJobFillsTheFastestFirst) {
  EXPECT_EQ(DivideTiers(kTiers, {60})[0], (Shares{{"memory", 60}, {"disk", 0}}));
  EXPECT_EQ(DivideTiers(kTiers, {600})[0], (Shares{{"memory", 100}, {"disk", 500}}));
  EXPECT_EQ(DivideTiers(kTiers, {6000})[0], (Shares{{"memory", 100}, {"disk", 5900}}));
}

// 300 + 100 bytes ask for 100 of memory: 3/4 and 1/4 of it.
TEST(DivideTiers, JobsShareATierInProportion) {
  const auto shares = DivideTiers(kTiers, {300, 100, 0});
  EXPECT_EQ(shares[0], (Shares{{"memory", 75}, {"disk", 225}}));
  EXPECT_EQ(shares[1], (Shares{{"memory", 25}, {"disk", 75}}));
  EXPECT_EQ(shares[2], (Shares{{"memory", 0}, {"disk", 0}}));
}

TEST(DivideTiers, OneTierGetsEachGrantWhole) {
  const auto shares = DivideTiers({{"memory", 100}}, {300, 70});
  EXPECT_EQ(shares[0], (Shares{{"memory", 300}}));
  EXPECT_EQ(shares[1], (Shares{{"memory", 70}}));
}

}  // namespace
}  // namespace headrace::coordinator
