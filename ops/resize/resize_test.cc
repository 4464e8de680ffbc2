#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops {
namespace {

using ::headrace::ops::testing::GraySpec;
using ::headrace::ops::testing::MakeNode;
using ::headrace::ops::testing::Ran;
using ::headrace::ops::testing::RgbSpec;
using ::headrace::ops::testing::RunPixels;
using ::headrace::ops::testing::ShapeOf;
using ::testing::ElementsAre;

std::pair<std::int64_t, std::int64_t> Resized(Args args, std::int64_t height, std::int64_t width) {
  return ShapeOf(MakeNode("resize", std::move(args)), RgbSpec(height, width));
}

TEST(Resize, ShorterEdgeKeepsTheAspectRatio) {
  using Shape = std::pair<std::int64_t, std::int64_t>;
  const Args edge{{"size", std::int64_t{256}}};
  EXPECT_EQ(Resized(edge, 375, 500), Shape(256, 341));  // 256 * 500 / 375 = 341.3
  EXPECT_EQ(Resized(edge, 500, 375), Shape(341, 256));
  EXPECT_EQ(Resized(edge, 100, 100), Shape(256, 256));
}

TEST(Resize, LongerEdgeIsBounded) {
  using Shape = std::pair<std::int64_t, std::int64_t>;
  const Args both{{"size", std::int64_t{256}}, {"max_size", std::int64_t{300}}};
  EXPECT_EQ(Resized(both, 100, 400), Shape(75, 300));  // 256 x 1024 scaled by 300 / 1024
  EXPECT_EQ(Resized({{"max_size", std::int64_t{50}}}, 100, 400), Shape(12, 50));
}

TEST(Resize, SideOfNoPixelsIsRefused) {
  const Ran ran = RunPixels({MakeNode("resize", {{"max_size", std::int64_t{2}}})}, GraySpec(1, 9),
                            {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(ran.status, InvalidArgument("node 1 resize: height and width must be > 0"));
}

TEST(Resize, SameSizeIsTheSameImage) {
  const Args args{{"size", std::vector<std::int64_t>{2, 2}}};
  EXPECT_THAT(RunPixels({MakeNode("resize", args)}, GraySpec(2, 2), {9, 8, 7, 6}).values,
              ElementsAre(9, 8, 7, 6));
}

TEST(Resize, NearestTakesPixels) {
  const Args args{{"size", std::vector<std::int64_t>{1, 2}},
                  {"interpolation", std::string("nearest")}};
  EXPECT_THAT(RunPixels({MakeNode("resize", args)}, GraySpec(1, 4), {1, 2, 3, 4}).values,
              ElementsAre(2, 4));
}

TEST(Resize, ArgumentsThatContradictAreRefused) {
  const auto refused = [](Args args) {
    return RunPixels({MakeNode("resize", std::move(args))}, GraySpec(1, 1), {1}).status.code();
  };
  EXPECT_EQ(refused({}), Code::kInvalidArgument);
  EXPECT_EQ(refused({{"size", std::int64_t{0}}}), Code::kInvalidArgument);
  EXPECT_EQ(refused({{"size", std::int64_t{8}}, {"max_size", std::int64_t{8}}}),
            Code::kInvalidArgument);
  EXPECT_EQ(refused({{"size", std::int64_t{8}}, {"interpolation", std::string("cubic")}}),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::ops
