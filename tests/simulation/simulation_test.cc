// Client, workers and coordinator in one thread, on a clock that jumps and a network that is drawn by
// dice: thousands of schedules of faults. See README.md.
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "gtest/gtest.h"
#include "tests/simulation/reference.h"
#include "tests/simulation/schedule_run.h"
#include "tests/simulation/sim_plans.h"

namespace headrace::simulation {
namespace {

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr || *given == '\0' ? otherwise : std::strtoull(given, nullptr, 10);
}

// A check of the product ends the program: the seed is said nevertheless.
std::atomic<std::uint64_t> running_seed{0};
void SayTheSeed(int signal) {
  std::array<char, 80> line{};
  const int size = std::snprintf(line.data(), line.size(),
                                 "HEADRACE_SIMULATION_SEED=%llu HEADRACE_SIMULATION_RUNS=1\n",
                                 static_cast<unsigned long long>(running_seed.load()));
  (void)!::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(size));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

class Simulation : public ::testing::Test {
 protected:
  // What goes wrong is in the log a thousand times.
  static void SetUpTestSuite() {
    InitLog("simulation", LogLevel::kError);
    std::signal(SIGABRT, SayTheSeed);
    std::signal(SIGSEGV, SayTheSeed);
  }
  static Reference& reference() {
    static Reference made;
    return made;
  }
};

TEST_F(Simulation, AQuietWorldMakesWhatThePlanSays) {
  for (std::int64_t batch = 0; batch < Reference::kBatches; ++batch) {
    ASSERT_EQ(reference().Rows(0, 1, batch), PlainRows(KeysOf(1, batch))) << batch;
    ASSERT_EQ(reference().Rows(kPlans - 1, 1, batch), reference().Rows(kPlans - 2, 1, batch))
        << "where the rows come from shows, in batch " << batch;
  }
}

TEST_F(Simulation, ASeedIsTheSameRunEachTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const Schedule& schedule : {Schedule::Of(seed), Schedule::OfLanes(seed)}) {
      const auto once = RunSchedule(schedule, reference());
      const auto again = RunSchedule(schedule, reference());
      EXPECT_EQ(once.trace, again.trace) << seed;
      EXPECT_EQ(once.events, again.events) << seed;
    }
  }
}

// HEADRACE_SIMULATION_SEED: the first seed; HEADRACE_SIMULATION_RUNS: how many;
// HEADRACE_SIMULATION_ALOUD=1: says what happens.
void RunAll(Schedule (*of)(std::uint64_t seed), std::uint64_t otherwise, Reference& reference) {
  const std::uint64_t first = Setting("HEADRACE_SIMULATION_SEED", 1);
  const std::uint64_t runs = Setting("HEADRACE_SIMULATION_RUNS", otherwise);
  const bool aloud = Setting("HEADRACE_SIMULATION_ALOUD", 0) != 0;
  std::uint64_t failed = 0, events = 0;
  std::int64_t batches = 0, missing = 0;
  Duration slowest{};
  for (std::uint64_t seed = first; seed < first + runs && failed < 5; ++seed) {
    running_seed = seed;
    const auto outcome = RunSchedule(of(seed), reference, aloud);
    events += outcome.events;
    batches += outcome.batches;
    missing += outcome.missing;
    slowest = std::max(slowest, outcome.recovered);
    if (outcome.failure.empty()) continue;
    ++failed;
    ADD_FAILURE() << "HEADRACE_SIMULATION_SEED=" << seed
                  << " HEADRACE_SIMULATION_RUNS=1: " << outcome.failure;
  }
  std::fprintf(stderr,
               "%llu schedules: %lld batches, %lld samples left to programs, %llu events, slowest "
               "recovery %.1f s\n",
               static_cast<unsigned long long>(runs), static_cast<long long>(batches),
               static_cast<long long>(missing), static_cast<unsigned long long>(events),
               std::chrono::duration<double>(slowest).count());
}

// A program that was stopped for 14 s took that for its workers' latency, and waited minutes before it
// repeated a request that was lost.
TEST_F(Simulation, AProgramThatWasStoppedGoesOnSoon) {
  EXPECT_EQ(RunSchedule(Schedule::Of(134'275), reference()).failure, "");
}

TEST_F(Simulation, EverySchedule) { RunAll(Schedule::Of, HEADRACE_SCHEDULES, reference()); }
TEST_F(Simulation, EveryScheduleOfLanes) {
  RunAll(Schedule::OfLanes, HEADRACE_LANE_SCHEDULES, reference());
}

}  // namespace
}  // namespace headrace::simulation
