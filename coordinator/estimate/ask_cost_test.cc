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

}  // namespace
}  // namespace headrace::coordinator
