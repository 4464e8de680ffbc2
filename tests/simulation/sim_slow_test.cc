// A pool with one slow worker: it rests, is drained by the word of the programs that use it, and replaced.
#include <algorithm>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/simulation/reference.h"
#include "tests/simulation/sim_program.h"
#include "tests/simulation/sim_world.h"

namespace headrace::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Outcome {
  bool done = false;
  std::uint64_t drains = 0;
  std::vector<std::int64_t> pids;
};

// Two programs and three workers, of which the first one takes so many times as long as the others.
Outcome RunWith(std::uint64_t slow) {
  static Reference reference;
  SimWorld world({.seed = 1,
                  .pool = 3,
                  .slow_first = slow,
                  .slow = {.agreed = seconds(20), .alone = seconds(40)},
                  .compute = {milliseconds(1), milliseconds(4)}});
  world.StartCoordinator();
  std::vector<std::unique_ptr<SimProgram>> programs;
  for (std::uint64_t i = 0; i < 2; ++i) {
    SimProgram::Options options;
    options.host = "trainer";
    options.base_seed = 1 + i;
    options.batches = Reference::kBatches;
    options.iterations = 4;
    options.max_outstanding = 8;
    options.step_least = milliseconds(50);
    options.step_most = milliseconds(150);
    options.slow = {.window = seconds(5), .windows = 2, .least_late = 1};
    programs.push_back(std::make_unique<SimProgram>(
        world, options,
        [](std::uint64_t seed, std::int64_t batch) -> const std::vector<std::uint64_t>& {
          return reference.Rows(0, seed, batch);
        }));
  }
  const auto done = [&] {
    return std::ranges::all_of(programs, [](const auto& program) { return program->done(); });
  };
  const SteadyTime until = world.events().Now() + std::chrono::minutes(10);
  while (!done() && world.events().RunNext(until)) {
    for (const auto& program : programs) {
      EXPECT_EQ(program->failure(), "");
      if (!program->failure().empty()) return {};
    }
  }
  Outcome outcome{.done = done(), .drains = world.coordinator()->state().slow_drains(), .pids = {}};
  for (const auto& [pid, worker] : world.workers()) outcome.pids.push_back(pid);
  return outcome;
}

TEST(SimSlow, ASlowWorkerIsDrainedAndItsPoolStartsAnother) {
  const Outcome same = RunWith(1);
  EXPECT_TRUE(same.done);
  EXPECT_EQ(same.drains, 0U) << "where all are equal, nobody is slow";
  ASSERT_EQ(same.pids.size(), 3U);
  const Outcome one = RunWith(100);
  EXPECT_TRUE(one.done);
  EXPECT_EQ(one.drains, 1U);
  EXPECT_EQ(one.pids.size(), 3U) << "the pool has as many as before";
  EXPECT_EQ(std::ranges::count(one.pids, same.pids[0]), 0) << "the slow one has ended";
  EXPECT_EQ(std::ranges::count(one.pids, same.pids[1]), 1);
}

}  // namespace
}  // namespace headrace::simulation
