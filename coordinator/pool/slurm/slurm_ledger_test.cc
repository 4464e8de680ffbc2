#include "coordinator/pool/slurm/slurm_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;

constexpr std::int64_t kOurs = 1700;

class SlurmLedgerTest : public testing::Test {
 protected:
  SlurmLedgerTest() { (void)List({}); }

  SlurmLedger::Outcome List(const std::vector<SlurmRow>& rows) {
    ledger_.ListingBegins();
    return ledger_.Listed(rows, now_);
  }
  static SlurmRow Row(const std::string& handle, const std::string& state,
                      const std::string& reason = "", std::int64_t epoch = kOurs,
                      std::int64_t batch = 1) {
    return {handle, state, state == "PENDING" ? "" : "n1", reason, epoch, batch};
  }
  // Slurm has taken `count` jobs, as array `id`.
  void Submit(std::int32_t count, const std::string& id) {
    ASSERT_TRUE(ledger_.Ask(count).ok());
    ASSERT_TRUE(ledger_.NextBatch().has_value());
    ledger_.Taken(id);
  }
  void Register(std::int64_t worker, const std::string& handle) {
    wire::WorkerInfo info;
    info.worker = WorkerId(worker);
    info.member = handle;
    ledger_.Registered(info, now_);
  }
  [[nodiscard]] std::vector<State> States() const {
    std::vector<State> states;
    for (const PoolMember& member : ledger_.List()) states.push_back(member.state);
    return states;
  }

  SlurmLedger ledger_{{"p", kOurs}, 1000};
  SteadyTime now_{seconds(5)};  // a host that has just started
};

TEST_F(SlurmLedgerTest, RequestsOfAMomentAreOneBatchAndOneIsOnItsWay) {
  ASSERT_TRUE(ledger_.Ask(2).ok());
  ASSERT_TRUE(ledger_.Ask(3).ok());
  EXPECT_EQ(ledger_.NextBatch()->count, 5);
  ASSERT_TRUE(ledger_.Ask(1).ok());
  EXPECT_FALSE(ledger_.NextBatch().has_value());
  EXPECT_THAT(ledger_.List(), SizeIs(6)) << "what is asked for is there for the coordinator";
  ledger_.Taken("7");
  EXPECT_EQ(ledger_.NextBatch()->count, 1);
  EXPECT_THAT(ledger_.List(), SizeIs(6));
}

TEST_F(SlurmLedgerTest, AnArrayIsNotLargerThanSlurmTakes) {
  ASSERT_TRUE(ledger_.Ask(600).ok());
  EXPECT_EQ(ledger_.NextBatch()->count, 500);
  ledger_.Taken("7");
  EXPECT_EQ(ledger_.NextBatch()->count, 100);
  ledger_.Taken("8");
  EXPECT_THAT(ledger_.List(), SizeIs(600));
}

TEST_F(SlurmLedgerTest, AMemberGoesFromTheQueueToItsEnd) {
  Submit(2, "7");
  EXPECT_THAT(States(), ElementsAre(State::kQueued, State::kQueued));
  (void)List({Row("7_0", "PENDING", "Priority"), Row("7_1", "RUNNING")});
  EXPECT_THAT(States(), ElementsAre(State::kQueued, State::kStarting));
  EXPECT_EQ(ledger_.List()[0].note, "Priority");
  EXPECT_EQ(ledger_.List()[1].note, "7_1 on n1");
  Register(5, "7_1");
  EXPECT_THAT(States(), ElementsAre(State::kQueued, State::kRunning));
  (void)List({Row("7_0", "PENDING"), Row("7_1", "PENDING")});
  EXPECT_THAT(States(), ElementsAre(State::kQueued, State::kRunning)) << "squeue's word is older";
  now_ += seconds(100);
  const auto outcome = List({Row("7_0", "PENDING"), Row("7_1", "COMPLETED")});
  EXPECT_THAT(outcome.ended, ElementsAre(WorkerId(5)));
  EXPECT_THAT(outcome.failed, IsEmpty());
  EXPECT_THAT(ledger_.List(), SizeIs(1));
}

TEST_F(SlurmLedgerTest, AJobThatSbatchToldOfAfterSqueueHadBegunIsNotMissed) {
  ledger_.ListingBegins();
  Submit(1, "7");
  EXPECT_THAT(ledger_.Listed({}, now_).failed, IsEmpty());
  EXPECT_THAT(ledger_.List(), SizeIs(1));
  EXPECT_THAT(List({}).failed, SizeIs(1)) << "the next one must have it";
  EXPECT_THAT(ledger_.List(), IsEmpty());
}

TEST_F(SlurmLedgerTest, WhatEndsBeforeOrSoonAfterItRegistersIsAFailure) {
  Submit(3, "7");
  Register(5, "7_1");
  Register(6, "7_2");
  now_ += SlurmLedger::kUseful;
  ASSERT_TRUE(ledger_.Drain(WorkerId(6)).ok());
  auto outcome = List({Row("7_0", "FAILED", "NonZeroExitCode"), Row("7_1", "RUNNING")});
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_THAT(outcome.failed[0].second.message(),
              testing::AllOf(testing::HasSubstr("before it registered"),
                             testing::HasSubstr("FAILED (NonZeroExitCode)")));
  EXPECT_THAT(outcome.ended, ElementsAre(WorkerId(6))) << "drained: no failure";
  EXPECT_THAT(List({}).failed, IsEmpty()) << "it has worked for a while";

  Submit(1, "8");
  Register(7, "8_0");
  now_ += SlurmLedger::kUseful - seconds(1);
  outcome = List({Row("8_0", "NODE_FAIL")});
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_THAT(outcome.failed[0].second.message(), testing::HasSubstr("soon after"));
}

TEST_F(SlurmLedgerTest, ABatchInDoubtIsKnownByItsCommentOrFails) {
  ASSERT_TRUE(ledger_.Ask(3).ok());
  ASSERT_EQ(ledger_.NextBatch()->number, 1);
  ledger_.ListingBegins();
  ledger_.Unanswered();
  EXPECT_FALSE(ledger_.NextBatch().has_value());
  EXPECT_THAT(ledger_.Listed({}, now_).failed, IsEmpty()) << "squeue had begun before";
  EXPECT_THAT(ledger_.List(), SizeIs(3));
  const auto outcome =
      List({Row("9_0", "RUNNING"), Row("9_1", "PENDING"), Row("8_0", "RUNNING", "", kOurs - 1, 1)});
  ASSERT_THAT(outcome.failed, SizeIs(1));
  EXPECT_EQ(outcome.failed[0].first, 1);
  EXPECT_THAT(ledger_.List(), SizeIs(3)) << "two of the batch, and one of a coordinator before";
}

TEST_F(SlurmLedgerTest, ALimitHalvesWhatIsAskedForUntilItFits) {
  ASSERT_TRUE(ledger_.Ask(8).ok());
  std::vector<std::int32_t> counts;
  std::int32_t failed = 0;
  for (auto batch = ledger_.NextBatch(); batch; batch = ledger_.NextBatch()) {
    counts.push_back(batch->count);
    if (batch->count <= 3) {
      ledger_.Taken("7");
      break;
    }
    for (const auto& [count, why] : ledger_.Refused(ResourceExhausted("limit")).failed) {
      failed += count;
    }
  }
  EXPECT_THAT(counts, ElementsAre(8, 4, 2));
  EXPECT_EQ(failed, 6);
  EXPECT_THAT(ledger_.List(), SizeIs(2));
  ASSERT_TRUE(ledger_.Ask(4).ok());
  (void)ledger_.NextBatch();
  EXPECT_EQ(ledger_.Refused(Unavailable("forbidden")).failed[0].first, 4) << "for good";
}

TEST_F(SlurmLedgerTest, AJobThatIsBeingEndedByOthersLeavesRoomForAnother) {
  Submit(1, "7");
  Register(5, "7_0");
  (void)List({Row("7_0", "COMPLETING")});
  EXPECT_THAT(States(), ElementsAre(State::kDraining));
  EXPECT_THAT(List({Row("7_0", "PREEMPTED")}).ended, ElementsAre(WorkerId(5)));
}

TEST_F(SlurmLedgerTest, AWorkerFasterThanSbatchsAnswerIsKnown) {
  ASSERT_TRUE(ledger_.Ask(1).ok());
  (void)ledger_.NextBatch();
  Register(5, "7_0");
  ledger_.Taken("7");
  EXPECT_EQ(ledger_.List().at(0).worker, WorkerId(5));
  EXPECT_THAT(States(), ElementsAre(State::kRunning));
}

TEST_F(SlurmLedgerTest, ANameIsTheFirstWorkersAndNobodyElses) {
  Submit(1, "7");
  Register(5, "7_0");
  Register(6, "7_0");
  EXPECT_EQ(ledger_.List()[0].worker, WorkerId(5));
  Register(6, "99_0");
  Register(6, "nonsense");
  (void)List({Row("7_0", "RUNNING")});
  EXPECT_THAT(ledger_.List(), SizeIs(1));
  EXPECT_EQ(ledger_.Drain(WorkerId(6)).code(), Code::kNotFound);
  ledger_.Left(WorkerId(5));
  EXPECT_THAT(States(), ElementsAre(State::kDraining)) << "its process is still to be ended";
}

TEST(SlurmLedger, ACoordinatorAfterThisOneHasWhatSqueueAndItsJournalTell) {
  SlurmLedger ledger({"p", 1800}, 1000);
  EXPECT_FALSE(ledger.ready());
  EXPECT_EQ(ledger.Ask(1).code(), Code::kUnavailable);
  wire::WorkerInfo info;
  info.worker = WorkerId(5);
  info.member = "7_0";
  ledger.Registered(info, SteadyTime(seconds(1)));
  info.worker = WorkerId(6);
  info.member = "7_1";
  ledger.Registered(info, SteadyTime(seconds(1)));
  ASSERT_TRUE(ledger.Drain(WorkerId(6)).ok());
  ledger.ListingBegins();
  const SteadyTime now(seconds(2));
  (void)ledger.Listed({{"7_0", "RUNNING", "n1", "", 1700, 1},
                       {"7_1", "RUNNING", "n1", "", 1700, 1},
                       {"7_2", "COMPLETED", "n1", "", 1700, 1},
                       {"7_3", "PENDING", "", "Priority", 1700, 1}},
                      now);
  EXPECT_TRUE(ledger.ready());
  ASSERT_THAT(ledger.List(), SizeIs(3));
  EXPECT_EQ(ledger.List()[0].state, State::kRunning);
  EXPECT_EQ(ledger.List()[1].state, State::kDraining);
  EXPECT_EQ(ledger.List()[2].state, State::kQueued);
  ledger.ListingBegins();
  const auto outcome = ledger.Listed({}, now);
  EXPECT_THAT(outcome.ended, ElementsAre(WorkerId(5), WorkerId(6)));
  EXPECT_THAT(outcome.failed, SizeIs(1)) << "7_3 alone: the others have worked before";
}

}  // namespace
}  // namespace headrace::coordinator
