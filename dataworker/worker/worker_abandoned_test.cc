// What a worker does with the sessions of trainers that are gone without a word: a clock that the
// test moves, and a coordinator played by hand.
#include <string>
#include <vector>

#include "dataworker/worker/test_coordinator.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AbandonedTest : public CoordinatedWorkerTest {
 protected:
  void SetUp() override {
    WorkerTest::SetUp();
    Begin();
  }
  // The jobs that the worker reports `passing` later.
  std::vector<JobId> After(int passing, TestClient* pinging = nullptr) {
    std::vector<JobId> jobs;
    for (int i = 0; i < passing; ++i) {
      if (pinging != nullptr) {
        pinging->Send(wire::Ping{1});
        pinging->Next<wire::Pong>();
      }
      Advance(std::chrono::seconds(1));
      jobs = coordinator_->Next().jobs;
    }
    return jobs;
  }
};

TEST_F(AbandonedTest, ASilentTrainerOnAnotherHostWithoutALeaseIsDead) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  client.Send(Request(AllKeys()));
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  // Without a sign of life but with a lease.
  coordinator_->Say({.jobs = {JobId(4), attach_.job}});
  EXPECT_THAT(After(60), ElementsAre(attach_.job));
  // Without a lease, but alive: its coordinator forgot it, or knows it by another id now.
  coordinator_->Say({.jobs = {JobId(6)}});
  EXPECT_THAT(After(60, &client), ElementsAre(attach_.job));
  // Neither.
  EXPECT_THAT(After(8), ElementsAre(attach_.job));
  // A session with a batch in work is kept, and a thread that was stopped may still end its batch.
  std::vector<JobId> left = After(30);
  for (int beat = 0; beat < 100'000 && !left.empty(); ++beat) left = After(1);
  EXPECT_THAT(left, IsEmpty());
  client.Send(Request({0}));
  EXPECT_EQ(client.Next<wire::BatchDone>().status.code(), Code::kNotFound);
}

TEST_F(AbandonedTest, RequestsThatWaitForTheBlobsOfADeadTrainerKeepNothing) {
  TestClient client(*worker_);
  attach_.pass = PassOf(worker_->token(), attach_.job);
  client.Send(attach_);
  EXPECT_EQ(client.Next<wire::Attached>().needed_blobs.size(), 1U);
  client.Send(Request({0}));
  EXPECT_THAT(client.UntilPong<wire::BatchDone>(), IsEmpty());
  EXPECT_THAT(After(9), ElementsAre(attach_.job));
  EXPECT_THAT(After(30), IsEmpty());
  EXPECT_EQ(client.Next<wire::BatchDone>().status.code(), Code::kNotFound);
}

TEST_F(AbandonedTest, ASharedArenaIsEndedByItsHangUpAlone) {
  TestClient client(*worker_);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  EXPECT_THAT(After(60), ElementsAre(attach_.job));
  client.HangUp();
  EXPECT_THAT(After(30), IsEmpty());
}

TEST_F(AbandonedTest, BlobsThatWentLostAreAskedForAgain) {
  TestClient client(*worker_);
  attach_.pass = PassOf(worker_->token(), attach_.job);
  client.Send(attach_);
  client.Next<wire::Attached>();
  client.Send(Request({0}));  // waits
  EXPECT_THAT(client.UntilPong<wire::BatchDone>(), IsEmpty());
  Advance(std::chrono::seconds(6));
  client.Send(Request({1}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.Next<wire::BatchDone>().status.code(), Code::kNotFound);
  }
  client.Attach(attach_, blobs_);
  client.Send(Request({0}));
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());
}

}  // namespace
}  // namespace headrace::dataworker
