#include "coordinator/scaling/prices.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace::coordinator {
namespace {

TEST(Prices, WithoutAPriceAllIsBought) {
  EXPECT_TRUE(WorthBuying({}, 1, 64));
  EXPECT_TRUE(WorthBuying({.gpu = 0.1, .core = 0}, 1, 64));
  EXPECT_TRUE(WorthBuying({.gpu = 0, .core = 1}, 1, 64));
}

// The rule against what it stands for: the price of the work at each number of cores.
TEST(Prices, TheCheapestNumberOfCoresIsAllOrNone) {
  const unsigned seed = 20261129;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> draw(0.01, 1);
  for (int i = 0; i < 1000; ++i) {
    const HourPrices prices{.gpu = 4 * draw(rng), .core = 0.1 * draw(rng)};
    const int gpus = 1 + static_cast<int>(rng() % 8);
    const int own = static_cast<int>(rng() % 200);
    const int most = own + 1 + static_cast<int>(rng() % 200);
    const auto cost = [&](int cores) {
      return static_cast<double>(most) / cores * (gpus * prices.gpu + (cores - own) * prices.core);
    };
    int cheapest = own == 0 ? 1 : own;
    for (int cores = cheapest; cores <= most; ++cores) {
      if (cost(cores) < cost(cheapest) * (1 - 1e-12)) cheapest = cores;
    }
    const double left = gpus * prices.gpu, right = own * prices.core;
    if (std::abs(left - right) < 1e-6 * left) continue;  // all numbers cost the same
    EXPECT_EQ(WorthBuying(prices, gpus, own), cheapest == most || most == 1)
        << gpus << " GPUs at " << prices.gpu << ", " << own << " of " << most << " cores at "
        << prices.core << ": " << cheapest;
  }
}

TEST(Prices, PeopleAreToldWhy) {
  EXPECT_EQ(WhyNotBought({.gpu = 0.3, .core = 0.04}, 1, 16),
            "no worker is started for it: its 1 GPU costs 0.3 an hour, less than its own 16 cores "
            "would, 0.64");
}

}  // namespace
}  // namespace headrace::coordinator
