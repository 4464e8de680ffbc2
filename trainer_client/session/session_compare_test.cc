// A session whose code may run elsewhere compares, and takes back what was wrong.
#include <numeric>
#include <string>
#include <vector>

#include "trainer_client/session/session_compare_fixture.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using std::chrono::seconds;

TEST_F(CompareTest, AWorkerElsewhereServesAfterTwoEqualBatches) {
  Trust();
  const std::uint64_t before = shared_->Stats(reactor_->clock()).compared;
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_);
  RunOn(*reactor_, [&] {
    EXPECT_LT(there_->asked.back().attempt, kShadow);
    EXPECT_EQ(here_->asked.back().attempt & kShadow, kShadow) << "made again here";
    EXPECT_EQ(here_->asked.back().lane_state, there_->asked.back().lane_state);
  });
  Await([&] { return core_->Load().compared == before + 1; });
  EXPECT_EQ(core_->Load().differed, 0U);
}

// Its code keeps no state, so it may be made twice.
TEST_F(CompareTest, ALateBatchOfAWorkerElsewhereIsMadeHereToo) {
  Trust();
  for (int i = 0; i < 4; ++i) {  // what is late is known then
    Submit(kWorkerHere);
    EXPECT_EQ(NextContent(), made_++);
  }
  RunOn(*reactor_, [this] { there_->mute = true; });
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_);
  RunOn(*reactor_, [this] {
    EXPECT_LT(there_->asked.back().attempt, kShadow);
    EXPECT_EQ(here_->asked.back().batch, there_->asked.back().batch);
    EXPECT_LT(here_->asked.back().attempt, kShadow) << "asked for itself, and not to compare";
    EXPECT_EQ(here_->asked.back().lane_state, there_->asked.back().lane_state);
  });
}

TEST_F(CompareTest, NewLanesAreNewOnesElsewhereToo) {
  Trust();
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_);
  std::uint64_t before = 0;
  RunOn(*reactor_, [&] {
    before = there_->asked.back().lane_set;
    core_->SetLanes({});
    EXPECT_TRUE(core_->Begin({}).ok());
  });
  Submit(kWorkerHere);
  EXPECT_EQ(NextContent(), 0);
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), 1);
  RunOn(*reactor_, [&] { EXPECT_GT(there_->asked.back().lane_set, before); });
}

TEST_F(CompareTest, AWorkerOnTrialThatDiffersIsWithdrawnAndNothingOfItWasConsumed) {
  there_->wrong_by = 100;
  Start({on_here_, elsewhere_});
  const Suspicion suspicion = Suspect();
  EXPECT_EQ(suspicion.host, "elsewhere");
  EXPECT_EQ(suspicion.worker, kWorkerThere.value);
  ASSERT_FALSE(suspicion.here.pickle.empty());
  EXPECT_EQ(NumberIn(suspicion.here.pickle), suspicion.batch);
  EXPECT_EQ(NumberIn(suspicion.there.pickle), suspicion.batch + 100);
  EXPECT_EQ(Judge(suspicion.id, false).consumed, 0U);
  Await([&] { return there_->detached == 1; });
  // This holds also when it is leased again.
  RunOn(*reactor_, [&] {
    core_->SetLeases({on_here_});
    core_->SetLeases({on_here_, elsewhere_});
    EXPECT_EQ(core_->Judge(suspicion.id, false).status().code(), Code::kInvalidArgument);
  });
  for (int batch = 0; batch < 4; ++batch) Submit(kWorkerThere);
  while (taken_ < made_ + 4) EXPECT_EQ(NextContent(), taken_++);
  RunOn(*reactor_, [&] {
    EXPECT_EQ(there_->asked.size(), 1U);
    EXPECT_EQ(there_->attached, 1);
  });
  EXPECT_EQ(shared_->Stats(reactor_->clock()).differed, 1U);
}

TEST_F(CompareTest, OtherBytesOfEqualValuesAreNoDifference) {
  there_->wrong_by = 100;
  Start({on_here_, elsewhere_});
  for (int batch = 0; batch < 2; ++batch) Judge(Suspect().id, true);
  Submit(kWorkerThere);
  Await([&] { return there_->asked.back().attempt < kShadow; });
  EXPECT_EQ(shared_->Stats(reactor_->clock()).differed, 0U);
}

TEST_F(CompareTest, WhatAWithdrawnWorkerMadeIsMadeAgainWithWhatWentOnFromIt) {
  Trust();
  std::size_t asked = 0;
  RunOn(*reactor_, [&] {
    asked = here_->asked.size();
    there_->wrong_by = 50;
    here_->holds_shadows = true;
  });
  Submit(kWorkerThere);
  for (int batch = 1; batch < 4; ++batch) Submit(kWorkerHere);  // from its wrong state
  Await([&] { return here_->held && here_->asked.size() == asked + 4; });
  RunOn(*reactor_, [&] { here_->Answer(*here_->held); });
  Submit(kWorkerHere);
  Submit(kWorkerHere);
  Await([&] { return here_->asked.size() == asked + 6; });  // so the shadow has come before
  const BatchMailbox::Taken taken = Next();
  ASSERT_TRUE(taken.suspicion);
  EXPECT_EQ(taken.suspicion->batch, made_);
  EXPECT_EQ(Judge(taken.suspicion->id, false).consumed, 0U);
  for (int batch = 0; batch < 6; ++batch) EXPECT_EQ(NextContent(), made_ + batch);
}

TEST_F(CompareTest, WhatWasConsumedOfAWithdrawnWorkerIsNamedAndASuspectedOneGetsNothing) {
  Trust();
  RunOn(*reactor_, [&] {
    there_->wrong_by = 50;
    here_->holds_shadows = true;
  });
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_ + 50);
  Await([&] { return here_->held.has_value(); });
  RunOn(*reactor_, [&] { here_->Answer(*here_->held); });
  const BatchMailbox::Taken taken = Next();
  ASSERT_TRUE(taken.suspicion);
  std::size_t asked = 0;
  RunOn(*reactor_, [&] { asked = there_->asked.size(); });
  Submit(kWorkerThere);
  EXPECT_EQ(Next().batch->batch.batch, made_ + 1);
  RunOn(*reactor_, [&] { EXPECT_EQ(there_->asked.size(), asked); });
  const Withdrawal withdrawal = Judge(taken.suspicion->id, false);
  EXPECT_EQ(withdrawal.consumed, 1U);
  EXPECT_EQ(withdrawal.batches, std::vector<std::int64_t>{made_});
}

TEST_F(CompareTest, CodeThatIsSeenToKeepStateBeforeAnyMoveGoesNowhere) {
  here_->change = "x was 0 and is 1";
  Start({on_here_, elsewhere_});
  Submit(kWorkerThere);
  const BatchMailbox::Taken told = Next();
  ASSERT_TRUE(told.change);
  EXPECT_FALSE(told.change->judged);
  EXPECT_EQ(told.change->what, "x was 0 and is 1");
  EXPECT_EQ(told.change->host, "here");
  const BatchMailbox::Taken verdict = Next();
  ASSERT_TRUE(verdict.change);
  EXPECT_TRUE(verdict.change->judged);
  EXPECT_EQ(verdict.change->differing.consumed, 0U);
  EXPECT_EQ(NextContent(), 0);
  Await([&] { return there_->detached == 1; });
  for (int content = 1; content < 4; ++content) {
    Submit(kWorkerThere);
    EXPECT_EQ(NextContent(), content);
  }
  RunOn(*reactor_, [&] {
    EXPECT_EQ(std::ssize(there_->asked), there_->shadows) << "it has served";
    EXPECT_EQ(here_->asked.size(), 4U) << "its lane was right, and nothing is made again";
  });
}

TEST_F(CompareTest, ALaneThatHasMovedIsMadeAgainFromItsFirstBatch) {
  Trust();
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_++);
  std::size_t before = 0;
  RunOn(*reactor_, [&] {
    there_->change = "x was 0 and is 1";
    here_->holds_shadows = true;
    before = here_->asked.size();
  });
  Submit(kWorkerThere);
  const BatchMailbox::Taken told = Next();
  ASSERT_TRUE(told.change);
  EXPECT_EQ(told.change->host, "elsewhere");
  const BatchMailbox::Taken verdict = Next();
  ASSERT_TRUE(verdict.change);
  EXPECT_TRUE(verdict.change->judged);
  EXPECT_EQ(verdict.change->differing.consumed, 0U) << "they were the same";
  EXPECT_EQ(NextContent(), made_);
  RunOn(*reactor_, [&] {
    std::vector<std::int64_t> again;
    for (std::size_t i = before; i < here_->asked.size(); ++i) {
      if (here_->asked[i].attempt < kShadow) again.push_back(here_->asked[i].batch.value);
    }
    std::vector<std::int64_t> all(static_cast<std::size_t>(made_) + 1);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(again, all);
    EXPECT_EQ(core_->Undecided(), 0);
  });
}

TEST_F(CompareTest, BatchesThatTheLaneMakesOtherwiseAndThatWereTakenAreNamed) {
  Trust();
  const int from_here = made_;
  for (int i = 0; i < 2; ++i) {
    Submit(kWorkerThere);
    EXPECT_EQ(NextContent(), made_++);
  }
  RunOn(*reactor_, [&] {
    there_->change = "x was 0 and is 1";
    here_->wrong_by = 50;  // as if the state had changed what is made
    here_->holds_shadows = true;
  });
  Submit(kWorkerThere);
  EXPECT_TRUE(Next().change);
  const BatchMailbox::Taken verdict = Next();
  ASSERT_TRUE(verdict.change);
  EXPECT_EQ(verdict.change->differing.consumed, 2U);
  EXPECT_EQ(verdict.change->differing.batches,
            (std::vector<std::int64_t>{from_here, from_here + 1}));
}

TEST_F(CompareTest, WithoutAWorkerOnThisHostNobodyMayServe) {
  Start({elsewhere_});
  const Status served = shared_->AwaitServed(seconds(20), reactor_->clock());
  EXPECT_EQ(served.code(), Code::kUnsupported);
  EXPECT_NE(served.message().find("has to be compared with this host"), std::string::npos)
      << served.ToString();
}

class PatientTest : public CompareTest {
 protected:
  PatientTest() : CompareTest(std::chrono::hours(1)) {}
};

TEST_F(PatientTest, AWorkerOfThisHostMayStillCome) {
  RunOn(*reactor_, [&] {
    core_->Start();
    core_->SetLeases({elsewhere_});
    EXPECT_EQ(shared_->AwaitServed(std::chrono::milliseconds(0), reactor_->clock()).code(),
              Code::kDeadlineExceeded);
    core_->SetLeases({on_here_, elsewhere_});
  });
  EXPECT_TRUE(shared_->AwaitServed(seconds(20), reactor_->clock()).ok());
}

TEST_F(CompareTest, AWorkerOnTrialIsNotOneThatServes) {
  Start({on_here_, elsewhere_});
  EXPECT_TRUE(shared_->AwaitServed(seconds(20), reactor_->clock()).ok());
}

}  // namespace
}  // namespace headrace::client
