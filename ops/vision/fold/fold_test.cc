#include "ops/vision/fold/fold.h"

#include "gtest/gtest.h"

namespace headrace::ops {
namespace {

constexpr ChannelValues kGray{7, 7, 7, 0};

FoldedPass Start() {
  FoldedPass fold;
  fold.Reset({10, 20, 3, DType::kU8, Layout::kHwc});
  return fold;
}

TEST(FoldedPass, CropsAndFlipsOnlyMoveTheWindow) {
  FoldedPass fold = Start();
  fold.Reframe({1, 2, 8, 10}, {});
  fold.FlipHorizontal();
  fold.Reframe({0, 1, 8, 5}, {});
  EXPECT_EQ(fold.base(), (Window{1, 6, 8, 5}));  // columns 6..10 of the source, mirrored
  EXPECT_TRUE(fold.flips_horizontal());
  EXPECT_TRUE(fold.fills().empty());
  fold.FlipHorizontal();
  EXPECT_FALSE(fold.flips_horizontal());
  fold.FlipVertical();
  fold.Reframe({0, 0, 3, 5}, {});
  EXPECT_EQ(fold.base(), (Window{6, 6, 3, 5}));
}

TEST(FoldedPass, WhatLiesOutsideIsFilled) {
  FoldedPass fold = Start();
  fold.Reframe({-2, -3, 14, 26}, kGray);
  EXPECT_EQ(fold.SourceWindow(), (Window{0, 0, 10, 20}));
  ASSERT_EQ(fold.fills().size(), 4U);
  EXPECT_EQ(fold.fills()[0].where, (Window{0, 0, 2, 26}));
  EXPECT_EQ(fold.fills()[1].where, (Window{12, 0, 2, 26}));
  EXPECT_EQ(fold.fills()[2].where, (Window{0, 0, 14, 3}));
  EXPECT_EQ(fold.fills()[3].where, (Window{0, 23, 14, 3}));
  fold.Reframe({2, 0, 5, 4}, {});  // three columns of border, one of the image
  ASSERT_EQ(fold.fills().size(), 1U);
  EXPECT_EQ(fold.fills()[0].where, (Window{0, 0, 5, 3}));
  EXPECT_EQ(fold.SourceWindow(), (Window{0, 0, 5, 1}));
  fold.FlipHorizontal();
  EXPECT_EQ(fold.fills()[0].where, (Window{0, 1, 5, 3}));
}

TEST(FoldedPass, WindowThatMissesTheSourceHasNoPixels) {
  FoldedPass fold = Start();
  fold.Reframe({0, 40, 5, 5}, kGray);
  EXPECT_EQ(fold.SourceWindow().width, 0);
  ASSERT_EQ(fold.fills().size(), 1U);
  EXPECT_EQ(fold.fills()[0].where, (Window{0, 0, 5, 5}));
}

TEST(IsInside, ChecksWithoutOverflow) {
  const ImageSpec spec{10, 20, 3, DType::kU8, Layout::kHwc};
  EXPECT_TRUE(IsInside({0, 0, 10, 20}, spec));
  EXPECT_FALSE(IsInside({1, 0, 10, 20}, spec));
  EXPECT_FALSE(IsInside({-1, 0, 5, 5}, spec));
  EXPECT_FALSE(IsInside({0, 0, 0, 5}, spec));
  EXPECT_FALSE(IsInside({0, INT64_MAX, 5, 5}, spec));
}

}  // namespace
}  // namespace headrace::ops
