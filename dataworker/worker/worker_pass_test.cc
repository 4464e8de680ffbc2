#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/secret.h"
#include "dataworker/worker/test_coordinator.h"

// Who may attach: trainers to whose job the coordinator gave a pass for this worker.
namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PassTest : public CoordinatedWorkerTest {
 protected:
  void SetUp() override {
    CoordinatedWorkerTest::SetUp();
    Begin();
  }
  // The jobs that the worker serves, as it tells its coordinator.
  std::vector<JobId> Served() {
    Advance(std::chrono::seconds(1));
    return coordinator_->Next().jobs;
  }
};

TEST_F(PassTest, APassOfTheCoordinatorAdmits) {
  TestClient client(*worker_);
  EXPECT_TRUE(client.Attach(attach_, blobs_).status.ok());
  client.Send(Request(AllKeys()));
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
}

TEST_F(PassTest, WithoutThatPassNothingIsAttachedAndNoCodeIsAskedFor) {
  const std::string of_another_worker = PassOf(MakeToken(), attach_.job);
  const std::string of_another_job = PassOf(coordinator_->token(), JobId(6));
  for (const std::string& pass :
       {std::string("none"), of_another_worker, of_another_job, coordinator_->token()}) {
    TestClient stranger(*worker_);
    attach_.pass = pass;
    const wire::Attached refused = stranger.Attach(attach_, blobs_);
    EXPECT_TRUE(IsNoSession(refused.status)) << "the trainer asks again: its leases may be new";
    EXPECT_THAT(refused.status.message(), HasSubstr("no pass"));
    EXPECT_THAT(refused.needed_blobs, IsEmpty());
    stranger.Send(Request(AllKeys()));
    EXPECT_TRUE(IsNoSession(stranger.Next<wire::BatchDone>().status));
  }
  EXPECT_THAT(Served(), IsEmpty());
}

TEST_F(PassTest, AnAttachWithoutAnyIsRefused) {
  TestClient stranger(*worker_);
  attach_.request = 1;
  stranger.Send(attach_);
  EXPECT_TRUE(IsNoSession(stranger.Next<wire::Attached>().status));
}

TEST_F(PassTest, AJobSendsItsOwnBlobsWhateverAnotherHas) {
  TestClient first(*worker_), again(*worker_), second(*worker_);
  EXPECT_EQ(first.Attach(attach_, blobs_).needed_blobs.size(), 1U);
  first.Send(Request(AllKeys()));
  EXPECT_TRUE(first.Next<wire::BatchDone>().status.ok());
  wire::Attach other = attach_;
  other.session = SessionId(78);
  EXPECT_THAT(again.Attach(other, blobs_).needed_blobs, IsEmpty()) << "another session of the job";
  other.session = SessionId(79);
  other.job = JobId(6);
  EXPECT_EQ(second.Attach(other, blobs_).needed_blobs.size(), 1U);
  wire::BatchRequest request = Request(AllKeys());
  request.session = other.session;
  second.Send(request);
  EXPECT_TRUE(second.Next<wire::BatchDone>().status.ok());
}

TEST_F(PassTest, ATrainerWithAPassSendsNothingForAnotherJobsSession) {
  TestClient trainer(*worker_), other(*worker_);
  wire::Attach of_other = attach_;
  of_other.session = SessionId(78);
  of_other.job = JobId(6);
  EXPECT_TRUE(other.Attach(of_other, blobs_).status.ok());
  wire::Attach first = attach_;
  first.request = 1;
  first.pass = PassOf(coordinator_->token(), attach_.job);
  trainer.Send(first);
  ASSERT_EQ(trainer.Next<wire::Attached>().needed_blobs.size(), 1U);
  // What has the hash that the session waits for, and the right size.
  const auto& [hash, content] = *blobs_.begin();
  const auto copy = std::make_shared<const Bytes>(content);
  other.Send(wire::BlobPart{attach_.session, hash, copy->size(), 0}, {{*copy, copy}});
  wire::BatchRequest request = Request(AllKeys());
  request.session = of_other.session;
  other.Send(request);
  EXPECT_TRUE(other.Next<wire::BatchDone>().status.ok());
  EXPECT_EQ(trainer.Attach(attach_, blobs_).needed_blobs.size(), 1U) << "it was not taken";
  trainer.Send(Request(AllKeys()));
  EXPECT_TRUE(trainer.Next<wire::BatchDone>().status.ok());
}

TEST_F(PassTest, ASessionIsNotTakenOverWithoutIt) {
  TestClient trainer(*worker_);
  EXPECT_TRUE(trainer.Attach(attach_, blobs_).status.ok());
  TestClient stranger(*worker_);
  wire::Attach taken = attach_;
  taken.pass = "none";
  EXPECT_TRUE(IsNoSession(stranger.Attach(taken, blobs_).status));
  taken.plan.name = "of another plan, which would end the session";
  EXPECT_TRUE(IsNoSession(stranger.Attach(taken, blobs_).status));
  stranger.Send(wire::Detach{attach_.session});
  stranger.Send(wire::CancelIterations{attach_.session, IterationId(9)});
  trainer.Send(Request(AllKeys()));
  EXPECT_TRUE(trainer.Next<wire::BatchDone>().status.ok());
}

}  // namespace
}  // namespace headrace::dataworker
