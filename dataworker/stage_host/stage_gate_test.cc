#include "dataworker/stage_host/stage_gate.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How many batches come to run side by side, each `busy` of the time on a core, when all of them
// have run for `age`.
int SideBySide(const StageGate& gate, double cores, double busy, Duration age) {
  std::vector<StageGate::Running> running;
  while (running.size() < 64 && gate.MayBegin(running, cores)) {
    running.push_back(
        {age, Duration(static_cast<Duration::rep>(static_cast<double>(age.count()) * busy))});
  }
  return static_cast<int>(running.size());
}

TEST(StageGate, BusyProcessesAreAsManyAsTheCoresAndAtLeastOne) {
  const StageGate gate;
  EXPECT_EQ(SideBySide(gate, 0.01, 1, seconds(1)), 1);
  EXPECT_EQ(SideBySide(gate, 1, 1, seconds(1)), 1);
  EXPECT_EQ(SideBySide(gate, 1.4, 1, seconds(1)), 1);
  EXPECT_EQ(SideBySide(gate, 1.5, 1, seconds(1)), 2);
  EXPECT_EQ(SideBySide(gate, 4, 1, seconds(1)), 4);
  EXPECT_EQ(SideBySide(gate, std::numeric_limits<double>::infinity(), 1, seconds(1)), 64);
}

TEST(StageGate, ProcessesThatWaitLeaveRoomForOthers) {
  const StageGate gate;
  EXPECT_EQ(SideBySide(gate, 1, 0, seconds(1)), 64);  // lanes that wait for each other all begin
  EXPECT_EQ(SideBySide(gate, 1, 0.125, seconds(1)), 5);
  EXPECT_EQ(SideBySide(gate, 1, 0, milliseconds(99)), 1);  // too young to tell
}

TEST(StageGate, BatchesThatEndedSayHowBusyTheNextWillBe) {
  StageGate gate;
  for (int i = 0; i < 60; ++i) gate.Ended({milliseconds(50), milliseconds(10)});
  EXPECT_NEAR(gate.busy(), 0.2, 0.01);
  EXPECT_EQ(SideBySide(gate, 1, 0.2, milliseconds(1)), 7);
  gate.Ended({});  // one that took no time says nothing
  EXPECT_NEAR(gate.busy(), 0.2, 0.01);
}

}  // namespace
}  // namespace headrace::dataworker
