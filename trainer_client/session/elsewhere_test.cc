#include "trainer_client/session/elsewhere.h"

#include <memory>
#include <utility>
#include <vector>

#include "trainer_client/session/session_parts_fixture.h"
#include "trainer_client/session/test_pickles.h"

namespace headrace::client {
namespace {

constexpr WorkerId kElsewhere(2);

// All parts are there, but no worker.
class ElsewhereTest : public SessionPartsTest {
 protected:
  ElsewhereTest() : SessionPartsTest(false) {}
  std::shared_ptr<Version> Made(int content) {
    auto version = std::make_shared<Version>();
    version->done.pickle = PickleOf(content);
    return version;
  }
  void Compare(int here, int there) {
    elsewhere_.Compared(
        {.ticket = book_.Ticket(5), .tried = kElsewhere, .here = Made(here), .there = Made(there)});
  }
  // As many equal batches as trust takes.
  void Trust() {
    elsewhere_.OnState(kElsewhere, WorkerLink::State::kReady);
    EXPECT_FALSE(elsewhere_.MayServe(kElsewhere));
    while (!elsewhere_.MayServe(kElsewhere) && trials_++ < 10) Compare(1, 1);
    EXPECT_TRUE(elsewhere_.MayServe(kElsewhere));
    changed_.clear();
  }
  std::vector<WorkerId> changed_;
  Elsewhere elsewhere_{true,
                       {.plan = context_.plan,
                        .workers = workers_,
                        .book = book_,
                        .queue = queue_,
                        .comparisons = comparisons_,
                        .mailbox = mailbox_,
                        .loans = loans_},
                       AnswerNames({}, {"os"}),
                       [this](WorkerId worker) { changed_.push_back(worker); }};
  int trials_ = 0;
};

TEST_F(ElsewhereTest, ASuspectedWorkerServesNothingUntilTheTrainerHasJudged) {
  Trust();
  Compare(1, 2);
  EXPECT_FALSE(elsewhere_.MayServe(kElsewhere));
  EXPECT_EQ(changed_, std::vector<WorkerId>{kElsewhere});
  EXPECT_EQ(elsewhere_.Undecided(), 1);
  const BatchMailbox::Taken taken = Next();
  ASSERT_TRUE(taken.suspicion);
  EXPECT_EQ(taken.suspicion->batch, 5);
  EXPECT_EQ(taken.suspicion->worker, kElsewhere.value);
  EXPECT_EQ(taken.suspicion->here.pickle, Made(1)->done.pickle);
  EXPECT_EQ(taken.suspicion->there.pickle, Made(2)->done.pickle);
  EXPECT_TRUE(elsewhere_.Judge(taken.suspicion->id, true).ok());
  EXPECT_TRUE(elsewhere_.MayServe(kElsewhere));
  EXPECT_EQ(changed_.size(), 2U);
  EXPECT_EQ(elsewhere_.Judge(taken.suspicion->id, true).status().code(), Code::kInvalidArgument);
}

TEST_F(ElsewhereTest, AWorkerThatMakesOthersIsWithdrawnWithWhatWasTakenOfIt) {
  Trust();
  book_.Planned(book_.Ticket(3), {}, {}, {});
  book_.Keep(book_.Ticket(3), kElsewhere, {});
  book_.Taken(3);
  Compare(1, 2);
  const Result<Withdrawal> judged = elsewhere_.Judge(Next().suspicion->id, false);
  ASSERT_TRUE(judged.ok());
  EXPECT_EQ(judged->batches, std::vector<std::int64_t>{3});
  EXPECT_FALSE(elsewhere_.MayServe(kElsewhere));
  elsewhere_.OnState(kElsewhere, WorkerLink::State::kReady);
  EXPECT_FALSE(elsewhere_.MayServe(kElsewhere)) << "for good";
}

TEST_F(ElsewhereTest, ABatchBeyondTheBoundsOfTheLookIsNoFault) {
  elsewhere_.OnState(kElsewhere, WorkerLink::State::kReady);
  const auto version = Made(1);
  version->done.pickle = PickleBytes("N" + std::string(1001, '\x85'));
  elsewhere_.Compared(
      {.ticket = book_.Ticket(5), .tried = kElsewhere, .here = Made(1), .there = version});
  EXPECT_FALSE(Next().suspicion);
  Trust();
}

TEST_F(ElsewhereTest, EqualBytesAreNoQuestion) {
  Trust();
  Compare(1, 1);
  EXPECT_FALSE(Next().suspicion);
  EXPECT_EQ(elsewhere_.Undecided(), 0);
  EXPECT_EQ(mailbox_.Stats(clock_).compared, static_cast<std::uint64_t>(trials_) + 1);
}

}  // namespace
}  // namespace headrace::client
