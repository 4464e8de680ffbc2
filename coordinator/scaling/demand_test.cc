#include <gtest/gtest.h>

#include <cstdio>

#include "coordinator/scaling/demand_scenes.h"

namespace headrace::coordinator {
namespace {

constexpr unsigned kSeeds = 20;

class Demands : public testing::TestWithParam<NamedScene> {};

TEST_P(Demands, StayWithinTheirBounds) {
  const NamedScene& scene = GetParam();
  SCOPED_TRACE(testing::Message() << scene.name << ", seeds 0 to " << kSeeds - 1);
  const DemandFigures figures = MeasureScene(scene.scene, kSeeds);
  EXPECT_GE(figures.mean, scene.bounds.mean_low);
  EXPECT_LE(figures.mean, scene.bounds.mean_high);
  EXPECT_LE(figures.most, scene.bounds.most);
  EXPECT_LE(figures.most_turns, scene.bounds.turns);
  EXPECT_LE(figures.wait, scene.bounds.wait);
  std::printf("%s: mean %.3f, %.3f to %.3f, %.1f moves, %.1f turns (%.0f at most), waits %.1f%%\n",
              scene.name.c_str(), figures.mean, figures.least, figures.most, figures.moves,
              figures.turns, figures.most_turns, 100 * figures.wait);
}

INSTANTIATE_TEST_SUITE_P(Scenes, Demands, testing::ValuesIn(DemandScenes()));

// Periods until a trainer that went four times as fast waits less than 5%, and what it then needs.
TEST(DemandRamp, IsFollowedBothWays) {
  for (const double noise : {0.0, 0.02, 0.05}) {
    for (const double buffer : {0.0, 16.0}) {
      for (unsigned seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(testing::Message()
                     << "noise " << noise << ", buffer " << buffer << ", seed " << seed);
        DemandWorld world(SteadyScene(noise, buffer), seed);
        world.Run(100);
        world.Ramp(4);
        int periods = 0;
        while (periods < 10 && world.Period() >= 0.05) ++periods;
        EXPECT_LE(periods, noise > 0 ? 3 : 2);
        world.Run(30);
        EXPECT_NEAR(world.demands().back(), 4 * kSceneNeed, 0.1 * 4 * kSceneNeed);
        world.Ramp(0.25);
        world.Run(23);
        EXPECT_NEAR(world.demands().back(), kSceneNeed, 0.1 * kSceneNeed);
      }
    }
  }
}

}  // namespace
}  // namespace headrace::coordinator
