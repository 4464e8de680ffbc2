#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Ran Normalized(std::vector<double> mean, std::vector<double> std_dev) {
  return RunPixels({MakeNode("to_tensor"), MakeNode("normalize", {{"mean", std::move(mean)},
                                                                  {"std", std::move(std_dev)}})},
                   RgbSpec(1, 1), {255, 0, 51});
}

TEST(Normalize, SubtractsThenDividesInFloat) {
  EXPECT_THAT(Normalized({0.5, 0.25, 0.1}, {0.5, 2, 0.3}).values,
              ElementsAre(1, -0.125F, (51 / 255.F - 0.1F) / 0.3F));
}

TEST(Normalize, OneValueServesAllChannels) {
  EXPECT_THAT(Normalized({1}, {0.5}).values, ElementsAre(0, -2, (51 / 255.F - 1) / 0.5F));
}

TEST(Normalize, ZeroDeviationIsTheFrameworksError) {
  EXPECT_THAT(Normalized({0}, {0}).status.message(), HasSubstr("division by zero"));
  EXPECT_THAT(Normalized({0}, {1e-60}).status.message(), HasSubstr("division by zero"));
}

}  // namespace
}  // namespace headrace::ops::testing
