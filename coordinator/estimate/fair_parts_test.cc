#include "coordinator/estimate/fair_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "coordinator/estimate/estimator.h"

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;

TEST(FairParts, WhoWantsLittleHasItAndTheOthersHaveEqualParts) {
  EXPECT_THAT(FairParts(10, std::vector<double>{1, 100, 20}), ElementsAre(1, 4.5, 4.5));
  EXPECT_THAT(FairParts(10, std::vector<double>{1, 2, 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(FairParts(9, std::vector<double>{kUnlimited, 1, kUnlimited}), ElementsAre(4, 1, 4));
  EXPECT_THAT(FairParts(kUnlimited, std::vector<double>{5, kUnlimited}),
              ElementsAre(5, kUnlimited));
  EXPECT_THAT(FairParts(-1, std::vector<double>{5, -3}), ElementsAre(0, 0));
  EXPECT_THAT(FairParts(5, {}), ElementsAre());
}

TEST(FairParts, NothingIsLostAndNobodyIsEnvied) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double high) {
      return std::uniform_real_distribution<double>(0, high)(rng);
    };
    std::vector<double> wanted(1 + rng() % 8);
    for (double& each : wanted) each = real(10);
    const double total = real(40), all = std::reduce(wanted.begin(), wanted.end());
    const std::vector<double> parts = FairParts(total, wanted);
    EXPECT_NEAR(std::reduce(parts.begin(), parts.end()), std::min(total, all), 1e-9);
    const double most = *std::ranges::max_element(parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_LE(parts[i], wanted[i]);
      // Who has less than another has all that it wants.
      EXPECT_TRUE(parts[i] >= wanted[i] - 1e-9 || parts[i] >= most - 1e-9);
    }
    // More to divide is less for nobody.
    const std::vector<double> more = FairParts(total * 1.5, wanted);
    for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_GE(more[i], parts[i] - 1e-9);
  }
}

}  // namespace
}  // namespace headrace::coordinator
