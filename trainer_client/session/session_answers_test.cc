// What becomes of answers with names that this host has not used.
#include "trainer_client/session/session_compare_fixture.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;

class AnswersTest : public CompareTest {
 protected:
  void Names(PlayedWorker& worker, const std::string& module) {
    RunOn(*reactor_, [&] { worker.names = module; });
  }
  // The next batch, if the worker elsewhere is asked for it while it is trusted.
  Batch NextOfThere() {
    Submit(kWorkerThere);
    BatchMailbox::Taken taken = Next();
    EXPECT_TRUE(taken.batch);
    if (!taken.batch) return {};
    EXPECT_EQ(taken.batch->batch.batch, made_++);
    return std::move(taken.batch->batch);
  }
};

TEST_F(AnswersTest, ABatchOfThisHostIsReadAsItIsAndOneOfAnotherByItsNamesAlone) {
  Trust();
  const Batch there = NextOfThere();
  EXPECT_EQ(there.worker, kWorkerThere.value);
  EXPECT_EQ(there.names, NamesUsed());
  Submit(kWorkerHere);
  const BatchMailbox::Taken here = Next();
  ASSERT_TRUE(here.batch);
  EXPECT_EQ(here.batch->batch.worker, kWorkerHere.value);
  EXPECT_FALSE(here.batch->batch.names);
}

TEST_F(AnswersTest, ABatchWithANewNameIsMadeOnThisHostAndItsWorkerShowsAgainWhatItMakes) {
  Trust();
  Names(*there_, "mine");
  const Batch made = NextOfThere();
  EXPECT_EQ(made.worker, kWorkerHere.value);
  EXPECT_EQ(NumberIn(made.pickle), made.batch) << "from the lane's state before it";
  // Now this host uses the name, too.
  Names(*here_, "mine");
  Batch later = NextOfThere();
  for (int i = 0; i < 20 && later.worker == kWorkerHere.value; ++i) later = NextOfThere();
  EXPECT_EQ(later.worker, kWorkerThere.value);
  EXPECT_EQ(later.names, (NamesUsed{{"mine", "Batch"}}));
  RunOn(*reactor_, [&] { EXPECT_EQ(there_->detached, 0); });
}

TEST_F(AnswersTest, ANameThatIsNeverAllowedEndsTheWorkersPart) {
  Trust();
  Names(*here_, "os");
  Names(*there_, "os");
  EXPECT_EQ(NextOfThere().worker, kWorkerHere.value);
  Await([&] { return there_->detached == 1; });
  RunOn(*reactor_, [&] {  // also when it is leased again
    core_->SetLeases({on_here_});
    core_->SetLeases({on_here_, elsewhere_});
  });
  EXPECT_EQ(NextOfThere().worker, kWorkerHere.value);
  RunOn(*reactor_, [&] { EXPECT_EQ(there_->attached, 1); });
}

TEST_F(AnswersTest, WhatAWorkerOnTrialNamesIsNotShownToTheTrainer) {
  there_->wrong_by = 100;
  there_->names = "mine";
  Start({on_here_, elsewhere_});
  while (!HasFailure()) {
    (void)NextOfThere();  // never a suspicion
    bool gone = false;
    RunOn(*reactor_, [&] { gone = there_->detached == 1; });
    if (gone) break;
  }
  EXPECT_EQ(shared_->Stats(reactor_->clock()).differed, 1U);
}

}  // namespace
}  // namespace headrace::client
