#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Node Blur(std::int64_t height, std::int64_t width, double sigma,
          const std::string& border = "REFLECT_101") {
  return MakeNode("cv_gaussian_blur", {{"size", std::vector<std::int64_t>{height, width}},
                                       {"sigma_x", sigma},
                                       {"border", border},
                                       {"version", std::int64_t{5}}});
}

TEST(CvGaussianBlur, OneTwoOne) {
  EXPECT_THAT(RunPixels({Blur(1, 3, 0, "REPLICATE")}, GraySpec(1, 4), {0, 100, 0, 0}).values,
              ElementsAre(25, 50, 25, 0));
}

TEST(CvGaussianBlur, AKernelWiderThanThePicture) {
  EXPECT_THAT(RunPixels({Blur(31, 31, 0)}, GraySpec(2, 2), {9, 9, 9, 9}).values, Each(9));
  EXPECT_THAT(RunPixels({Blur(0, 0, 9.5)}, GraySpec(1, 1), {9}).values, Each(9));
}

TEST(CvGaussianBlur, KernelsAreBounded) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const Node& node :
       {Blur(2, 3, 0), Blur(3, 257, 0), Blur(0, 0, 0), Blur(-1, 3, 1), Blur(3, 3, -1),
        Blur(3, 3, 1e9), Blur(3, 3, kNan), Blur(3, 3, 0, "WRAP")}) {
    EXPECT_FALSE(RunPixels({node}, GraySpec(1, 1), {9}).status.ok());
  }
}

}  // namespace
}  // namespace headrace::ops::testing
