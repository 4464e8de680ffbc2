#include "coordinator/estimate/ask_cost.h"

#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

TEST(AskCost, CountsTheQuestionTheLinkAndBothCpus) {
  EXPECT_NEAR(AskSeconds(0), 100e-6, 1e-12);
  EXPECT_NEAR(AskSeconds(600e3), 100e-6 + 300e-6 + 480e-6, 1e-9);
}

TEST(AskCost, AReadOfAStoreIsWorthAQuestionAndQuickWorkIsNot) {
  EXPECT_TRUE(WorthAsking(50e-3, 600e3, false));
  EXPECT_TRUE(WorthAsking(5e-3, 20e3, false)) << "small ones too";
  EXPECT_FALSE(WorthAsking(0.6e-3, 600e3, false));
  EXPECT_TRUE(WorthAsking(0, 600e3, false)) << "not measured";
}

TEST(AskCost, WhatHoldsStaysUntilTheOtherWayIsMuchCheaper) {
  const double ask = AskSeconds(600e3);
  for (const bool asks : {false, true}) {
    EXPECT_EQ(WorthAsking(ask * 1.2, 600e3, asks), asks);
    EXPECT_EQ(WorthAsking(ask / 1.2, 600e3, asks), asks);
    EXPECT_TRUE(WorthAsking(ask * 1.6, 600e3, asks));
    EXPECT_FALSE(WorthAsking(ask / 1.6, 600e3, asks));
  }
}

// 10,000 samples/s of 600 kB, seven of eight of them another worker's: questions take 7.7 cores.
TEST(AskCost, CopiesAreWorthKeepingWhereQuestionsTakeMuch) {
  const AskedReads fast{.rate = 10'000, .asked = 7.0 / 8, .cost_s = 1e-3};
  EXPECT_TRUE(WorthReplicas(fast, 600e3, false));
  AskedReads slow = fast;
  slow.rate = 50;
  EXPECT_FALSE(WorthReplicas(slow, 600e3, false)) << "0.04 cores";
  AskedReads dear = fast;
  dear.cost_s = 50e-3;
  EXPECT_FALSE(WorthReplicas(dear, 600e3, false)) << "1.5% of what a sample takes";
  AskedReads missed = fast;
  missed.asked = 0;
  EXPECT_FALSE(WorthReplicas(missed, 600e3, true));
}

TEST(AskCost, CopiesStayUntilQuestionsTakeHalfOfThat) {
  const double ask = AskSeconds(600e3);
  for (const double part : {1.1, 0.9, 0.6, 0.4}) {
    const AskedReads few{.rate = part * kLeastAskCores / ask, .asked = 1, .cost_s = 0};
    EXPECT_EQ(WorthReplicas(few, 600e3, false), part > 1) << part;
    EXPECT_EQ(WorthReplicas(few, 600e3, true), part > 0.5) << part;
    const double cost = ask * (1 - part * kLeastAskPart) / (part * kLeastAskPart);
    const AskedReads dear{.rate = 1e6, .asked = 1, .cost_s = cost};
    EXPECT_EQ(WorthReplicas(dear, 600e3, false), part > 1) << part;
    EXPECT_EQ(WorthReplicas(dear, 600e3, true), part > 0.5) << part;
  }
}

}  // namespace
}  // namespace headrace::coordinator
