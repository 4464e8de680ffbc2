#include "coordinator/scaling/controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace headrace::coordinator {
namespace {

// A job on a fake cluster that grants at once the demand and a tenth more, up to what there is. The
// world differs from the measurements: cores are `slowness` times slower than metered, and a part
// of the waiting has nothing to do with cores.
struct World {
  Terms truth{400, 0, 0.01, 0};  // 4 cores
  double cores = 64;             // there are
  double slowness = 1;
  double other_limit =
      kUnlimited;  // samples/s, limited by something that looks like cores but is not
  double noise = 0;
  std::mt19937 rng{1};
  double granted = 1;
  Controller controller;
  std::vector<Move> moves;

  double Noise() { return 1 + noise * std::uniform_real_distribution<double>(-1, 1)(rng); }

  // Runs one second. Returns the share of it that the trainer waited.
  double Period() {
    const double g = truth.ready_rate * Noise();
    const double cost = truth.miss_cost * slowness;
    const double rate = std::min({g, granted / cost, other_limit});
    Sample sample;
    sample.samples = rate;
    sample.step_s = rate / g;
    sample.wait_s = 1 - sample.step_s;
    sample.cores_wait_s = sample.wait_s;
    sample.granted_cores = granted;
    Terms measured = truth;
    measured.miss_cost *= Noise();
    moves.push_back(controller.Observe(sample, measured));
    granted = std::min(cores, 1.1 * controller.demand().cores);
    return sample.wait_s;
  }
  void Run(int periods) {
    for (int i = 0; i < periods; ++i) Period();
  }
  [[nodiscard]] long Count(Move move) const { return std::count(moves.begin(), moves.end(), move); }
};

TEST(Controller, TheFirstPeriodIsEnough) {
  World world;
  EXPECT_GT(world.Period(), 0.7);  // one core of four
  EXPECT_NEAR(world.granted, 4.4, 1e-9);
  EXPECT_LT(world.Period(), 0.05);
}

// Demand goes to four times and back. Within two periods of each step the trainer waits less than
// 5%, and idle cores are given back within shrink_periods.
TEST(Controller, FollowsARampBothWays) {
  World world;
  world.Run(20);
  world.truth.ready_rate *= 4;
  world.Period();
  world.Period();
  EXPECT_LT(world.Period(), 0.05);
  EXPECT_NEAR(world.granted, 17.6, 1e-6);
  world.Run(20);
  world.truth.ready_rate /= 4;
  world.Run(23);
  EXPECT_NEAR(world.granted, 4.4, 1e-6);
  EXPECT_LT(world.Period(), 0.01);
}

TEST(Controller, OneOddPeriodChangesNothing) {
  World world;
  world.Run(20);
  world.truth.ready_rate *= 4;
  world.Period();
  world.truth.ready_rate /= 4;
  world.Run(20);
  EXPECT_NEAR(world.granted, 4.4, 1e-9);
  EXPECT_EQ(world.Count(Move::kGrow), 1);
}

// Five minutes of steps that vary by 15% and costs that vary by 15%: after the first periods nearly no
// demand changes, and none by much.
TEST(Controller, NoiseMovesNothing) {
  constexpr unsigned kSeeds = 200;
  unsigned moved = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world;
    world.noise = 0.15;
    world.rng.seed(seed);
    world.Run(60);
    const double settled = world.granted;
    world.moves.clear();
    world.Run(300);
    EXPECT_NEAR(world.granted, settled, 0.1 * settled);
    EXPECT_NEAR(world.controller.demand().cores, 4, 0.1 * 4);
    moved += world.Count(Move::kHold) < 300 ? 1U : 0U;
  }
  EXPECT_LE(moved, kSeeds / 20);
}

TEST(Controller, StopsWhereTheTrainerIsTheBottleneck) {
  World world;
  world.Run(300);
  EXPECT_NEAR(world.granted, 4.4, 1e-9);
  EXPECT_EQ(world.Count(Move::kGrow), 1);
  EXPECT_EQ(world.Count(Move::kTrimUp), 0);
}

// Others leave so much idle that it never waits. Then there is time to be sure.
TEST(Controller, GrowsWhereNobodyWaitsWhenMostOfSixteenPeriodsSaySo) {
  Controller controller;
  const Terms measured{0, 0, 0.01, 0};
  for (int i = 0; i < 40; ++i) controller.Observe({400, 1, 0, 0, 4.4, 0}, measured);
  for (int i = 0; i < 7; ++i) controller.Observe({800, 1, 0, 0, 4.4, 0}, measured);
  EXPECT_NEAR(controller.demand().cores, 4, 0.01);
  for (int i = 0; i < 7; ++i) controller.Observe({800, 1, 0, 0, 4.4, 0}, measured);
  EXPECT_NEAR(controller.demand().cores, 8, 0.4);
}

// Cores are slower than those on which the cost was metered.
TEST(Controller, TrimsForWhatTheFormulaDoesNotKnow) {
  World world;
  world.slowness = 1.8;
  world.Run(30);
  EXPECT_LT(world.Period(), 0.05);
  EXPECT_GE(world.granted, 4 * 1.8 * 0.95);
  EXPECT_LE(world.granted, 4 * 1.8 * 1.5);
  // The trim that helped is not taken back.
  world.moves.clear();
  world.Run(300);
  EXPECT_EQ(world.Count(Move::kHold) + world.Count(Move::kTrimDown), 300);
  EXPECT_LT(world.Period(), 0.05);
}

// It waits, and no core helps: after one trial it gives the cores back and makes no more trials.
TEST(Controller, GivesUpWhereCoresDoNotHelp) {
  World world;
  world.other_limit = 200;
  world.Run(59);
  EXPECT_EQ(world.Count(Move::kTrimUp), 1);
  EXPECT_EQ(world.Count(Move::kTrimBack), 1);
  EXPECT_NEAR(world.granted, 4.4, 1e-9);
  EXPECT_DOUBLE_EQ(world.controller.trim(), 1);
}

// There are fewer cores than demanded, which is no reason to demand more.
TEST(Controller, AShortageIsNotTrimmed) {
  World world;
  world.cores = 2;
  world.Run(100);
  EXPECT_EQ(world.Count(Move::kTrimUp), 0);
  EXPECT_NEAR(world.controller.demand().cores, 4, 1e-9);
}

TEST(Controller, FilledCacheGivesCoresBack) {
  World world;
  world.truth.hit_cost = 0.001;
  world.Run(20);
  Sample sample{400, 1, 0, 0, 4.4, 1.0};
  Terms measured = world.truth;
  // The same terms, all from the cache: 0.4 cores, by the formula and at once.
  EXPECT_EQ(world.controller.Observe(sample, measured), Move::kHold);
  EXPECT_NEAR(world.controller.demand().cores, 0.4, 1e-9);
}

TEST(Controller, APeriodWithoutSamplesTeachesNothing) {
  World world;
  world.Run(5);
  const Demand before = world.controller.demand();
  EXPECT_EQ(world.controller.Observe({0, 0, 1, 1, 4.4, 0}, world.truth), Move::kHold);
  EXPECT_EQ(world.controller.demand().terms, before.terms);
}

// All of it is cached, and a hit costs nothing that a clock could see.
TEST(Controller, SamplesThatCostNothingNeedNothing) {
  Controller controller;
  Sample sample;
  sample.samples = 100;
  sample.step_s = 1;
  sample.hit = 1;
  controller.Observe(sample, {0, 0, 0.01, 1e5});
  const Demand& demand = controller.demand();
  EXPECT_EQ(demand.cores, 0);
  EXPECT_EQ(demand.terms.ready_rate, 100);
  EXPECT_EQ(demand.terms.hit_cost, 0);
  EXPECT_EQ(demand.terms.miss_cost, 0.01);
}

}  // namespace
}  // namespace headrace::coordinator
