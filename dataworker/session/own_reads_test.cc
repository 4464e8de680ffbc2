#include <cstdint>

#include "dataworker/session/stage_leaves.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

TEST(OwnReadsTest, WhatCameFromTheCacheIsTakenOffOnceWheneverItIsTold) {
  OwnReads own;
  EXPECT_EQ(own.Without(1000), 1000U);
  own.Add(300);
  own.Add(500);
  EXPECT_EQ(own.Without(600), 0U);
  EXPECT_EQ(own.Without(600), 400U) << "200 were left";
  EXPECT_EQ(own.Without(600), 600U);
}

TEST(OwnReadsTest, AProcessThatSaysTooMuchDoesNotOverflowIt) {
  OwnReads own;
  for (int i = 0; i < 4; ++i) own.Add(~std::uint64_t{0});
  EXPECT_EQ(own.Without(std::uint64_t{1} << 42), 0U);
  EXPECT_EQ(own.Without(1), 1U);
}

}  // namespace
}  // namespace headrace::dataworker
