#include "coordinator/policy/core/pour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "coordinator/estimate/estimator.h"

namespace headrace::coordinator {
namespace {

Flow Of(double most, double weight, std::int32_t limit, double each = 1) {
  return {most, weight, {{{limit, each}}}};
}

TEST(Pour, InProportionToWeightsUntilFull) {
  const std::vector<Flow> flows = {Of(10, 1, 0), Of(10, 3, 0), Of(1, 2, 0)};
  const std::vector<double> limits = {9};
  const Poured poured = Pour(flows, limits);
  // The last one is full at level 0.5; the others have 8 in all.
  EXPECT_DOUBLE_EQ(poured.amounts[0], 2);
  EXPECT_DOUBLE_EQ(poured.amounts[1], 6);
  EXPECT_DOUBLE_EQ(poured.amounts[2], 1);
  EXPECT_DOUBLE_EQ(poured.level, 2);
  EXPECT_EQ(poured.stopped, (std::vector<std::int32_t>{0, 0, -1}));
}

TEST(Pour, WhoDoesNotNeedWhatIsUsedUpGoesOn) {
  std::vector<Flow> flows = {Of(10, 1, 0), Of(10, 1, 1)};
  flows[0].uses[1] = {1, 1};
  const std::vector<double> limits = {2, 7};
  const Poured poured = Pour(flows, limits);
  EXPECT_DOUBLE_EQ(poured.amounts[0], 2);
  EXPECT_DOUBLE_EQ(poured.amounts[1], 5);
}

TEST(Pour, WhoTakesNothingIsStoppedByWhatThereIsLeastOf) {
  std::vector<Flow> flows = {Of(10, 0, 0)};
  flows[0].uses[1] = {1, 1};
  EXPECT_EQ(Pour(flows, std::vector<double>{2, 0}).stopped[0], 1);
  EXPECT_EQ(Pour(flows, std::vector<double>{0, 2}).stopped[0], 0);
}

TEST(Pour, NothingBinds) {
  const std::vector<Flow> flows = {Of(3, 1, 0), Of(4, 0, 0)};
  const std::vector<double> limits = {kUnlimited};
  const Poured poured = Pour(flows, limits);
  EXPECT_DOUBLE_EQ(poured.amounts[0], 3);
  EXPECT_DOUBLE_EQ(poured.amounts[1], 0);
  EXPECT_TRUE(std::isinf(poured.level));
  EXPECT_EQ(poured.stopped, (std::vector<std::int32_t>{-1, -1}));
}

// Weights that are hundreds of orders of magnitude apart are an order, and lose nothing.
TEST(Pour, ATinyWeightGetsWhatTheOthersLeave) {
  const std::vector<Flow> flows = {Of(3, 1, 0), Of(5, 1e-250, 0), Of(5, 1e-250, 0)};
  const std::vector<double> limits = {9};
  const Poured poured = Pour(flows, limits);
  EXPECT_DOUBLE_EQ(poured.amounts[0], 3);
  EXPECT_DOUBLE_EQ(poured.amounts[1], 3);
  EXPECT_DOUBLE_EQ(poured.amounts[2], 3);
}

// No limit is exceeded; whoever has less than its most uses a limit that is used up, and no flow of that
// limit is above the level at which this one stopped.
TEST(Pour, IsTheHighestLevelForEverybody) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    std::vector<double> limits;
    for (int l = 0; l < 5; ++l) limits.push_back(rng() % 4 == 0 ? kUnlimited : real(0, 20));
    std::vector<Flow> flows;
    for (unsigned i = 0; i < rng() % 12; ++i) {
      Flow flow{real(0, 5), std::exp(real(-20, 0)), {}};
      for (int u = 0; u < 3; ++u) {
        flow.uses[u] = {static_cast<std::int32_t>((i + u) % 5), rng() % 2 == 0 ? real(0, 2) : 0};
      }
      flows.push_back(flow);
    }
    const Poured poured = Pour(flows, limits);
    std::vector<double> used(limits.size(), 0), highest(limits.size(), 0);
    const auto level = [&](std::size_t i) { return poured.amounts[i] / flows[i].weight; };
    for (std::size_t i = 0; i < flows.size(); ++i) {
      EXPECT_LE(poured.amounts[i], flows[i].most);
      for (const Flow::Use& use : flows[i].uses) {
        if (use.each <= 0) continue;
        used[use.limit] += poured.amounts[i] * use.each;
        highest[use.limit] = std::max(highest[use.limit], level(i));
      }
    }
    for (std::size_t l = 0; l < limits.size(); ++l) EXPECT_LE(used[l], limits[l] * (1 + 1e-9));
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (poured.amounts[i] >= flows[i].most * (1 - 1e-9)) continue;
      EXPECT_TRUE(std::ranges::any_of(flows[i].uses, [&](const Flow::Use& use) {
        return use.each > 0 && use.limit == poured.stopped[i] &&
               used[use.limit] >= limits[use.limit] * (1 - 1e-9) &&
               highest[use.limit] <= level(i) * (1 + 1e-9) + 1e-9;
      }));
    }
  }
}

}  // namespace
}  // namespace headrace::coordinator
