#include "dataworker/stage/stage_gate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
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

// Sessions of several jobs that always have batches to make, and threads of native jobs, on the
// cores of one worker, which its system divides equally among those that run.
class Contention {
 public:
  struct Session {
    double share;  // cores
    int lanes;
    Duration batch;  // CPU time of each
    StageGate gate{};
    std::vector<StageGate::Running> running{};
    Duration used{};
    bool due = true;  // to look whether one may begin
  };
  static constexpr Duration kTick = milliseconds(5);

  Contention(double cores, int native_threads, std::vector<Session> sessions)
      : cores_(cores), native_(native_threads), sessions_(std::move(sessions)) {}

  void Run(Duration time) {
    for (const SteadyTime end = now_ + time; now_ < end; now_ += kTick) Tick();
  }
  [[nodiscard]] const std::vector<Session>& sessions() const { return sessions_; }
  [[nodiscard]] Duration elapsed() const { return now_ - SteadyTime(); }
  [[nodiscard]] double Cores(const Session& session) const {
    return static_cast<double>(session.used.count()) / static_cast<double>(elapsed().count());
  }

 private:
  void Tick() {
    const bool look = elapsed() % milliseconds(20) == Duration(0);
    std::size_t running = static_cast<std::size_t>(native_);
    for (Session& session : sessions_) {
      if (look || session.due) Begin(session);
      session.due = false;
      running += session.running.size();
    }
    const double part = std::min(1.0, cores_ / static_cast<double>(running));
    const auto cpu =
        Duration(static_cast<Duration::rep>(part * static_cast<double>(kTick.count())));
    for (Session& session : sessions_) {
      for (StageGate::Running& batch : session.running) {
        batch.wall += kTick;
        batch.cpu += cpu;
        session.used += cpu;
      }
      std::erase_if(session.running, [&](const StageGate::Running& batch) {
        if (batch.cpu < session.batch) return false;
        session.gate.Ended(batch);
        return session.due = true;
      });
    }
  }
  void Begin(Session& session) {
    session.gate.Look(now_, session.running, session.share);
    while (session.running.size() < static_cast<std::size_t>(session.lanes) &&
           session.gate.MayBegin(session.running, session.share)) {
      session.running.push_back({});
    }
  }

  const double cores_;
  const int native_;
  std::vector<Session> sessions_;
  SteadyTime now_{};
};

TEST(StageGate, BatchesFarLongerThanAPeriodPayTheirDebt) {
  for (const Duration batch : {milliseconds(10), milliseconds(300), milliseconds(20'000)}) {
    // A quarter of two cores, beside native work that would take them all.
    Contention native(2, 2, {{.share = 0.5, .lanes = 4, .batch = batch}});
    native.Run(seconds(2000));
    EXPECT_NEAR(native.Cores(native.sessions()[0]), 0.5, 0.02) << batch.count();
    // Two jobs of stages: one has three parts of four.
    Contention two(
        2, 0,
        {{.share = 0.5, .lanes = 4, .batch = batch}, {.share = 1.5, .lanes = 4, .batch = batch}});
    two.Run(seconds(2000));
    EXPECT_NEAR(two.Cores(two.sessions()[0]), 0.5, 0.03) << batch.count();
    EXPECT_NEAR(two.Cores(two.sessions()[1]), 1.5, 0.09) << batch.count();
  }
}

TEST(StageGate, NobodyIsAheadByMoreThanABatchOfEachProcess) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 rng(seed);
    const auto pick = [&](double least, double most) {
      return std::uniform_real_distribution<double>(least, most)(rng);
    };
    const double cores = std::floor(pick(1, 9));
    std::vector<Contention::Session> sessions(static_cast<std::size_t>(pick(1, 4)));
    for (Contention::Session& session : sessions) {
      session.share = pick(StageGate::kLeastCores, cores);
      session.lanes = static_cast<int>(pick(1, 9));
      session.batch = Duration(static_cast<Duration::rep>(pick(5e6, 5e9)));
    }
    Contention worker(cores, static_cast<int>(pick(0, cores)), sessions);
    for (int second = 0; second < 60; ++second) {
      worker.Run(seconds(1));
      for (const Contention::Session& session : worker.sessions()) {
        const auto most = Duration(static_cast<Duration::rep>(
            session.share * static_cast<double>(worker.elapsed().count())));
        ASSERT_LE(session.used,
                  most + StageGate::kSaved + session.lanes * (session.batch + Contention::kTick))
            << "seed " << seed;
      }
    }
  }
}

TEST(StageGate, WhatNobodyElseWantedIsFree) {
  const double alone = std::numeric_limits<double>::infinity();
  StageGate gate;
  SteadyTime now{};
  std::vector<StageGate::Running> running{{}};
  gate.Look(now, {}, alone);
  now += seconds(10);
  running[0] = {seconds(10), seconds(10)};
  gate.Look(now, running, 0.5);  // somebody came meanwhile
  gate.Ended(running[0]);
  gate.Look(now, {}, 0.5);
  EXPECT_TRUE(gate.MayBegin({}, 0.5));
  // From then on it counts, until nobody else has work again.
  now += seconds(10);
  running[0] = {seconds(10), seconds(10)};
  gate.Look(now, running, 0.5);
  gate.Ended(running[0]);
  EXPECT_FALSE(gate.MayBegin({}, 0.5));
  now += milliseconds(9900);
  gate.Look(now, {}, 0.5);
  EXPECT_FALSE(gate.MayBegin({}, 0.5));
  EXPECT_TRUE(gate.MayBegin({}, alone));
  gate.Look(now, {}, alone);
  gate.Look(now, {}, 0.5);
  EXPECT_TRUE(gate.MayBegin({}, 0.5));
}

TEST(StageGate, WhoHasNextToNoShareWaitsAWhile) {
  StageGate gate;
  gate.Look(SteadyTime(), {}, 1e-6);
  gate.Ended({seconds(1), seconds(1)});
  gate.Look(SteadyTime(seconds(9)), {}, 1e-6);
  EXPECT_FALSE(gate.MayBegin({}, 1e-6));
  gate.Look(SteadyTime(seconds(10)), {}, 1e-6);
  EXPECT_TRUE(gate.MayBegin({}, 1e-6));
}

}  // namespace
}  // namespace headrace::dataworker
