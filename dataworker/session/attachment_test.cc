#include "dataworker/session/attachment.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dataworker/cache/cache_registry.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using std::chrono::seconds;

class AttachmentTest : public ::testing::Test {
 protected:
  static wire::Attach Attach(std::int64_t job = 1, std::uint64_t cache_bytes = 0) {
    wire::Attach attach;
    attach.session = SessionId(7);
    attach.job = JobId(job);
    attach.cache_bytes = cache_bytes;
    return attach;
  }

  FakeClock clock_;
  std::shared_ptr<SampleStore> cache_ =
      std::move(BuiltinCacheTiers().MakeStore({{"memory", {{"size", "4M"}}}})).value();
  std::vector<std::pair<std::string, wire::Body>> sent_;
  Attachment attachment_{
      clock_, cache_,
      [this](const std::string& peer, wire::Body body, std::vector<net::PayloadFrame> /*payload*/) {
        sent_.emplace_back(peer, std::move(body));
      },
      Attach()};
};

TEST_F(AttachmentTest, AnswersGoToWhoeverAttachedLast) {
  attachment_.Renew("first", Attach());
  attachment_.Send(wire::Pong{1});
  clock_.Advance(seconds(3));
  wire::Attach again = Attach(2);
  again.request = 9;
  attachment_.Renew("second", again);
  EXPECT_EQ(attachment_.since(), clock_.Now());
  EXPECT_EQ(attachment_.peer(), "second");
  EXPECT_EQ(attachment_.job(), JobId(2));
  EXPECT_EQ(attachment_.request().request, 9U);
  wire::BatchRequest request;
  request.iteration = IterationId(3);
  request.batch = BatchId(4);
  request.attempt = 5;
  attachment_.Refuse(request, ResourceExhausted("too large"), 6000);
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_[0].first, "first");
  EXPECT_EQ(sent_[1].first, "second");
  const auto& answer = std::get<wire::BatchDone>(sent_[1].second);
  EXPECT_EQ(answer.session, SessionId(7));
  EXPECT_EQ(answer.iteration, IterationId(3));
  EXPECT_EQ(answer.batch, BatchId(4));
  EXPECT_EQ(answer.attempt, 5U);
  EXPECT_EQ(answer.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(answer.needed_bytes, 6000U);
}

TEST_F(AttachmentTest, AnotherPlanOrAnotherSplitIsNotTheSameSession) {
  EXPECT_TRUE(attachment_.SamePlan(Attach(2, 100)));
  wire::Attach lanes = Attach();
  lanes.lanes_given = true;
  EXPECT_FALSE(attachment_.SamePlan(lanes));
  wire::Attach plan = Attach();
  plan.plan.lanes += 1;
  EXPECT_FALSE(attachment_.SamePlan(plan));
}

TEST_F(AttachmentTest, ItsPartOfTheCacheIsKeptWhileJobAndSizeAreTheSame) {
  attachment_.Renew("peer", Attach());
  EXPECT_EQ(attachment_.cache(), nullptr);
  attachment_.Renew("peer", Attach(1, 1000));
  const auto first = attachment_.cache();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->job(), JobId(1));
  attachment_.Renew("other", Attach(1, 1000));
  EXPECT_EQ(attachment_.cache(), first);
  attachment_.Renew("other", Attach(1, 2000));
  EXPECT_NE(attachment_.cache(), first);
  attachment_.Renew("other", Attach(2, 2000));
  EXPECT_EQ(attachment_.cache()->job(), JobId(2));
  attachment_.Renew("other", Attach(2, 0));
  EXPECT_EQ(attachment_.cache(), nullptr);
}

TEST_F(AttachmentTest, ATrainerIsGoneWhenItIsSilentAndItsJobHasNoLeaseThriceInARow) {
  attachment_.Renew("peer", Attach());
  const SteadyTime attached = clock_.Now();
  clock_.Advance(Attachment::kMostSilence);
  EXPECT_FALSE(attachment_.Abandoned(false, attached));  // it was asked before the Attach
  for (int answer = 1; answer < Attachment::kMostUnleased; ++answer) {
    EXPECT_FALSE(attachment_.Abandoned(false, clock_.Now())) << answer;
  }
  EXPECT_FALSE(attachment_.Abandoned(true, clock_.Now()));  // counted from here on
  for (int answer = 1; answer < Attachment::kMostUnleased; ++answer) {
    EXPECT_FALSE(attachment_.Abandoned(false, clock_.Now())) << answer;
  }
  EXPECT_TRUE(attachment_.Abandoned(false, clock_.Now()));
  attachment_.Heard();
  EXPECT_FALSE(attachment_.Abandoned(false, clock_.Now()));
  clock_.Advance(Attachment::kMostSilence - Duration(1));
  EXPECT_FALSE(attachment_.Abandoned(false, clock_.Now()));
  clock_.Advance(Duration(1));
  EXPECT_TRUE(attachment_.Abandoned(false, clock_.Now()));
  // A trainer that attaches again lives.
  attachment_.Renew("peer", Attach());
  EXPECT_FALSE(attachment_.Abandoned(false, clock_.Now()));
  clock_.Advance(seconds(1));
  for (int answer = 0; answer <= Attachment::kMostUnleased; ++answer) {
    EXPECT_FALSE(attachment_.Abandoned(false, clock_.Now())) << answer;
  }
}

}  // namespace
}  // namespace headrace::dataworker
