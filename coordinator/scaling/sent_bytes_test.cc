#include "coordinator/scaling/sent_bytes.h"

#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

constexpr double kKeep = 0.93;

TEST(SentBytes, BatchesAsMadeUntilOneHasCrossed) {
  SentBytes sent;
  EXPECT_EQ(sent.each(), 0);
  sent.Add(100, 100 * 600e3, 0, 0);
  sent.EndPeriod(kKeep);
  EXPECT_DOUBLE_EQ(sent.each(), 600e3 * 1.05);
}

// Half of the samples are made on the own host; the others cross as uint8.
TEST(SentBytes, ThenTheFormThatWorkersSend) {
  SentBytes sent;
  sent.Add(100, 50 * 600e3, 50 * 600e3, 50 * 150e3);
  sent.EndPeriod(kKeep);
  EXPECT_DOUBLE_EQ(sent.each(), 150e3 * 1.05);
  EXPECT_TRUE(sent.crossed());
  // All of them on the own host for an hour: the form is remembered.
  for (int period = 0; period < 3600; ++period) {
    sent.Add(100, 100 * 600e3, 0, 0);
    sent.EndPeriod(kKeep);
  }
  EXPECT_DOUBLE_EQ(sent.each(), 150e3 * 1.05);
  EXPECT_FALSE(sent.crossed());
}

// A loader's first batches come before the program takes them.
TEST(SentBytes, WhatFillsThePipelineIsForgottenAfterAPeriod) {
  SentBytes sent;
  sent.Add(100, 0, 100 * 600e3, 250 * 150e3);
  sent.EndPeriod(kKeep);
  EXPECT_DOUBLE_EQ(sent.each(), 375e3 * 1.05);
  for (int period = 0; period < 2; ++period) {
    sent.Add(100, 0, 100 * 600e3, 100 * 150e3);
    sent.EndPeriod(kKeep);
    EXPECT_DOUBLE_EQ(sent.each(), 150e3 * 1.05);
  }
}

TEST(SentBytes, DuplicatesAreNoLargerForm) {
  SentBytes sent;
  sent.Add(100, 0, 100 * 600e3, 200 * 600e3);
  sent.EndPeriod(kKeep);
  EXPECT_DOUBLE_EQ(sent.each(), 600e3 * 1.05);
}

TEST(SentBytes, ItStaysWhileSizesWobbleAndIsNeverTooSmall) {
  SentBytes sent;
  int changes = 0;
  double last = 0;
  for (int period = 0; period < 500; ++period) {
    const double each = 600e3 * (period % 2 == 0 ? 0.98 : 1.02);
    sent.Add(100, 0, 100 * each, 100 * each);
    sent.EndPeriod(0);
    EXPECT_GE(sent.each(), each);
    changes += sent.each() != last ? 1 : 0;
    last = sent.each();
  }
  EXPECT_LE(changes, 2);
  // Another size altogether is followed.
  for (int period = 0; period < 100; ++period) {
    sent.Add(100, 0, 100 * 60e3, 100 * 60e3);
    sent.EndPeriod(kKeep);
  }
  EXPECT_NEAR(sent.each(), 60e3, 0.11 * 60e3);
}

TEST(SentBytes, APeriodWithoutSamplesTeachesNothing) {
  SentBytes sent;
  sent.Add(0, 0, 0, 600e3);
  sent.EndPeriod(kKeep);
  EXPECT_EQ(sent.each(), 0);
}

}  // namespace
}  // namespace headrace::coordinator
