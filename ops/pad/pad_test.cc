#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Ran Padded(const std::string& mode) {
  return RunPixels({MakeNode("pad", {{"padding", std::vector<std::int64_t>{2, 0, 1, 0}},
                                     {"fill", std::int64_t{9}},
                                     {"padding_mode", mode}})},
                   GraySpec(1, 3), {1, 2, 3});
}

TEST(Pad, EveryMode) {
  EXPECT_THAT(Padded("constant").values, ElementsAre(9, 9, 1, 2, 3, 9));
  EXPECT_THAT(Padded("edge").values, ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(Padded("reflect").values, ElementsAre(3, 2, 1, 2, 3, 2));
  EXPECT_THAT(Padded("symmetric").values, ElementsAre(2, 1, 1, 2, 3, 3));
}

TEST(Pad, FillOfEachChannel) {
  const Ran ran = RunPixels({MakeNode("pad", {{"padding", std::vector<std::int64_t>{1, 0, 0, 0}},
                                              {"fill", std::vector<std::int64_t>{7, 8, 9}}})},
                            RgbSpec(1, 1), {1, 2, 3});
  EXPECT_THAT(ran.values, ElementsAre(7, 8, 9, 1, 2, 3));
}

TEST(Pad, WhatCannotBePaddedIsRefused) {
  EXPECT_THAT(Padded("wrap").status.message(), HasSubstr("Padding mode should be either"));
  const Node cropping = MakeNode("pad", {{"padding", std::int64_t{-1}}});
  EXPECT_EQ(RunPixels({cropping}, GraySpec(1, 1), {1}).status.code(), Code::kUnsupported);
}

// pad_if_smaller of torchvision's references.
TEST(Pad, TheRightAndTheBottomGrowToTheLeastSize) {
  const Node node = MakeNode("pad", {{"padding", std::int64_t{0}},
                                     {"least", std::vector<std::int64_t>{2, 3}},
                                     {"fill", std::int64_t{9}}});
  EXPECT_THAT(RunPixels({node}, GraySpec(1, 2), {1, 2}).values, ElementsAre(1, 2, 9, 9, 9, 9));
  EXPECT_THAT(RunPixels({node}, GraySpec(3, 1), {1, 2, 3}).values,
              ElementsAre(1, 9, 9, 2, 9, 9, 3, 9, 9));
  EXPECT_THAT(RunPixels({node}, GraySpec(2, 4), {1, 2, 3, 4, 5, 6, 7, 8}).values,
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

}  // namespace
}  // namespace headrace::ops::testing
