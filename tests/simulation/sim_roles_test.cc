// The simulated disk and compute threads.
#include <memory>
#include <string>
#include <vector>

#include "coordinator/state/update.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulation/sim_executor.h"
#include "tests/simulation/sim_journal.h"

namespace headrace::simulation {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<SimProcess> MakeProcess() { return std::make_shared<SimProcess>("h", "p", 1); }

void RunFor(EventQueue& events, Duration time) {
  const SteadyTime until = events.Now() + time;
  while (events.RunNext(until)) {
  }
}

coordinator::AddJob JobOf(std::int64_t id) {
  coordinator::AddJob job;
  job.job = JobId(id);
  job.consumer = ConsumerId(id);
  job.token = "token " + std::to_string(id);
  return job;
}

TEST(SimDisk, HasWhatItSaysItHas) {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EventQueue events;
    SimDisk disk(events, Dice(seed), milliseconds(10));
    const auto process = MakeProcess();
    auto opened = *disk.Open(process);
    std::vector<int> durable;
    opened.journal->Append({JobOf(1)}, [&] { durable.push_back(1); });
    EXPECT_THAT(durable, IsEmpty());
    RunFor(events, milliseconds(20));
    EXPECT_THAT(durable, ElementsAre(1));
    // One is being written, and one waits.
    opened.journal->Append({JobOf(2)}, [&] { durable.push_back(2); });
    opened.journal->Append({JobOf(3)}, [&] { durable.push_back(3); });
    process->Kill();
    disk.OnDeath();
    opened.journal.reset();
    RunFor(events, milliseconds(20));
    EXPECT_THAT(durable, ElementsAre(1));
    const auto again = *disk.Open(MakeProcess());
    const std::size_t jobs = again.state.jobs().size();
    EXPECT_TRUE(jobs == 1 || jobs == 2);
    kept += jobs == 2;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 20);
}

TEST(SimDisk, AnOrderlyEndWritesEverything) {
  EventQueue events;
  SimDisk disk(events, Dice(1), milliseconds(10));
  auto opened = *disk.Open(MakeProcess());
  opened.journal->Append({JobOf(1)}, {});
  opened.journal->Append({JobOf(2)}, {});
  opened.journal->Stop();
  EXPECT_EQ(disk.records(), 2U);
}

TEST(SimExecutor, TasksTakeTimeAndADeadProcessEndsNone) {
  EventQueue events;
  const auto process = MakeProcess();
  SimExecutor executor(events, Dice(1), process, 2, {milliseconds(1), milliseconds(9)});
  std::vector<int> ran;
  for (int i = 0; i < 5; ++i) {
    executor.Submit([&ran, i](dataworker::ThreadContext&) { ran.push_back(i); });
  }
  EXPECT_THAT(ran, IsEmpty());
  RunFor(events, milliseconds(100));
  EXPECT_EQ(ran.size(), 5U);
  executor.Submit([&ran](dataworker::ThreadContext&) { ran.push_back(5); });
  process->Kill();
  executor.Stop();
  RunFor(events, milliseconds(100));
  EXPECT_EQ(ran.size(), 5U);
}

TEST(SimExecutor, StopRunsWhatWasSubmitted) {
  EventQueue events;
  SimExecutor executor(events, Dice(1), MakeProcess(), 1, {milliseconds(1), milliseconds(9)});
  int ran = 0;
  for (int i = 0; i < 3; ++i) executor.Submit([&](dataworker::ThreadContext&) { ++ran; });
  executor.Stop();
  executor.Submit([&](dataworker::ThreadContext&) { ++ran; });
  EXPECT_EQ(ran, 3);
}

}  // namespace
}  // namespace headrace::simulation
