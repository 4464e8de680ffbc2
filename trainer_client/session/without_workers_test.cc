#include "trainer_client/session/without_workers.h"

#include <string>

#include "gtest/gtest.h"
#include "trainer_client/session/worker_set_fixture.h"

namespace headrace::client {
namespace {

using std::chrono::seconds;

WithoutWorkers::Options Then(NoWorkers then, bool trainer_can = true) {
  return {.then = then,
          .trainer_can = trainer_can,
          .timeout = seconds(10),
          .patience = seconds(3),
          .remedy = "start one"};
}

class ComparingTest : public WorkerSetTest {
 protected:
  ComparingTest() : WorkerSetTest(true) {}
};

TEST_F(ComparingTest, AReferenceMayComeForAWhile) {
  WithoutWorkers without({.timeout = seconds(60), .reference_patience = seconds(5)});
  without.Start(AtSecond(0));
  Run([&](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, AtSecond(0));
    EXPECT_TRUE(without.Check(workers, 0, AtSecond(4)).error.ok());
    EXPECT_EQ(without.Check(workers, 0, AtSecond(5)).error.code(), Code::kUnsupported);
    EXPECT_TRUE(without.Check(workers, 1, AtSecond(6)).error.ok());
  });
}

TEST_F(ComparingTest, ThePlanThatAllRefuseIsMadeByTheTrainerThatCan) {
  WithoutWorkers without(Then(NoWorkers::kLocal));
  without.Start(AtSecond(0));
  WithoutWorkers waits(Then(NoWorkers::kWait));
  waits.Start(AtSecond(0));
  Run([&](WorkerSet& workers) {
    workers.SetLeases({Worker(1, "a")}, AtSecond(0));
    const auto decision = without.Check(workers, 0, AtSecond(3));
    EXPECT_TRUE(decision.error.ok());
    EXPECT_TRUE(decision.trainer_makes);
    EXPECT_EQ(waits.Check(workers, 0, AtSecond(3)).error.code(), Code::kUnsupported)
        << "nobody waits for what can't come";
  });
}

using WithoutWorkersTest = WorkerSetTest;

TEST_F(WithoutWorkersTest, WhoFailsIsToldAfterTheTimeout) {
  WithoutWorkers without(Then(NoWorkers::kFail));
  without.Start(AtSecond(0));
  Run([&](WorkerSet& workers) {
    EXPECT_TRUE(without.Check(workers, 0, AtSecond(9)).error.ok());
    const Status none = without.Check(workers, 0, AtSecond(10)).error;
    EXPECT_EQ(none.message(), "no data worker serves this job; start one");
    EXPECT_TRUE(without.Check(workers, 1, AtSecond(20)).error.ok());
    EXPECT_TRUE(without.Check(workers, 0, AtSecond(29)).error.ok()) << "there was one until 20";
    workers.SetLeases({Unreachable(5, "a")}, AtSecond(29));
    const std::string unreached = without.Check(workers, 0, AtSecond(30)).error.message();
    EXPECT_TRUE(unreached.starts_with("no data worker of this job can be reached (")) << unreached;
    EXPECT_TRUE(unreached.ends_with("; start one")) << unreached;
  });
}

TEST_F(WithoutWorkersTest, WhoWaitsSaysSoOnceAMinute) {
  WithoutWorkers without(Then(NoWorkers::kWait));
  without.Start(AtSecond(0));
  Run([&](WorkerSet& workers) {
    int lines = 0;
    for (int s = 0; s < 200; ++s) {
      const auto decision = without.Check(workers, 0, AtSecond(s));
      EXPECT_TRUE(decision.error.ok());
      EXPECT_FALSE(decision.trainer_makes);
      if (!decision.say.empty()) ++lines;
    }
    EXPECT_EQ(lines, 4) << "at 10, 70, 130 and 190 s";
    EXPECT_EQ(without.Check(workers, 1, AtSecond(200)).say,
              "workers serve this job again, after 200 s");
    EXPECT_EQ(without.Check(workers, 1, AtSecond(201)).say, "");
  });
}

TEST_F(WithoutWorkersTest, TheTrainerMakesSamplesUntilAWorkerIsThere) {
  WithoutWorkers without(Then(NoWorkers::kLocal));
  without.Start(AtSecond(0));
  Run([&](WorkerSet& workers) {
    EXPECT_FALSE(without.Check(workers, 0, AtSecond(2)).trainer_makes);
    const auto decision = without.Check(workers, 0, AtSecond(3));
    EXPECT_TRUE(decision.trainer_makes);
    EXPECT_EQ(decision.say,
              "no data worker serves this job for 3 s: the program makes its samples itself until "
              "one does; start one");
    EXPECT_TRUE(without.Check(workers, 0, AtSecond(30)).trainer_makes);
    EXPECT_FALSE(without.Check(workers, 1, AtSecond(31)).trainer_makes);
    EXPECT_FALSE(without.Check(workers, 0, AtSecond(33)).trainer_makes) << "patient again";
  });
}

TEST_F(WithoutWorkersTest, WhatTheTrainerCanNotMakeFailsAtTheBeginAndWaitsLater) {
  WithoutWorkers without(Then(NoWorkers::kLocal, /*trainer_can=*/false));
  without.Start(AtSecond(0));
  Run([&](WorkerSet& workers) {
    EXPECT_EQ(without.Check(workers, 0, AtSecond(10)).error.code(), Code::kUnavailable);
    EXPECT_TRUE(without.Check(workers, 1, AtSecond(11)).error.ok());
    const auto decision = without.Check(workers, 0, AtSecond(60));
    EXPECT_TRUE(decision.error.ok());
    EXPECT_FALSE(decision.trainer_makes);
    EXPECT_NE(decision.say, "");
  });
}

}  // namespace
}  // namespace headrace::client
