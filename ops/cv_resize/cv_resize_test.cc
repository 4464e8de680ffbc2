#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using Sides = std::vector<std::int64_t>;

Node Resize(Sides size, const std::string& interpolation, const std::string& rule = "sides") {
  return MakeNode("cv_resize", {{"size", std::move(size)},
                                {"interpolation", interpolation},
                                {"rule", rule},
                                {"version", std::int64_t{5}}});
}

TEST(CvResize, MeansOfAreasAndNearestPixels) {
  const std::vector<std::uint8_t> gray{10, 20, 30, 40};
  EXPECT_THAT(RunPixels({Resize({1, 2}, "AREA")}, GraySpec(1, 4), gray).values,
              ElementsAre(15, 35));
  EXPECT_THAT(RunPixels({Resize({1, 2}, "NEAREST")}, GraySpec(1, 4), gray).values,
              ElementsAre(10, 30));
  EXPECT_THAT(RunPixels({Resize({1, 1}, "AREA")}, RgbSpec(1, 2), {0, 2, 4, 4, 6, 8}).values,
              ElementsAre(2, 4, 6));
}

TEST(CvResize, OneSideRoundsTheOtherHalfToEven) {
  EXPECT_EQ(ShapeOf(Resize({100}, "LINEAR", "longest"), RgbSpec(200, 101)),
            (std::pair<std::int64_t, std::int64_t>(100, 50)));
  EXPECT_EQ(ShapeOf(Resize({100}, "LINEAR", "shortest"), RgbSpec(200, 100)),
            (std::pair<std::int64_t, std::int64_t>(200, 100)));
  EXPECT_EQ(ShapeOf(Resize({10}, "LINEAR", "longest"), RgbSpec(1000, 3)),
            (std::pair<std::int64_t, std::int64_t>(10, 1)));
}

TEST(CvResize, SidesAreBounded) {
  const std::vector<Sides> refused{{0, 5}, {5, -1}, {40000, 5}, {5}, {1, 2, 3}};
  for (const Sides& size : refused) {
    EXPECT_FALSE(RunPixels({Resize(size, "LINEAR")}, GraySpec(1, 1), {1}).status.ok());
  }
  EXPECT_FALSE(RunPixels({Resize({2, 2}, "MAGIC")}, GraySpec(1, 1), {1}).status.ok());
  EXPECT_FALSE(
      RunPixels({MakeNode("to_tensor"), Resize({2, 2}, "AREA")}, GraySpec(1, 1), {1}).status.ok());
}

}  // namespace
}  // namespace headrace::ops::testing
