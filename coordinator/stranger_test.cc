#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "base/pass/pass.h"
#include "coordinator/step_test_util.h"

namespace headrace::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// What changes something names a job or a worker by a small number, which `headrace jobs` shows.
// The token says who speaks.
class StrangerTest : public testing::Test {
 protected:
  StrangerTest() {
    job_ = cluster_.OpenJob("token-of-the-job");
    worker_ = cluster_.Register("token-of-the-worker").worker;
    cluster_.Ask<wire::SessionOpened>(wire::OpenSession{1, job_.job, SessionId(42), SmallPlan()});
  }
  // Each message that changes something, of a sender with this token.
  [[nodiscard]] std::vector<wire::Body> MessagesWith(const std::string& token) const {
    wire::ConsumerHeartbeat beat{1, job_.job, job_.consumer, {}, {worker_}};
    beat.sessions = {{.session = SessionId(42), .samples = 7}};
    beat.token = token;
    wire::WorkerHeartbeat own;
    own.worker = worker_;
    own.cpu_seconds = 1e9;
    own.token = token;
    return {beat,
            own,
            wire::OpenSession{1, job_.job, SessionId(43), SmallPlan(), token},
            wire::CloseSession{job_.job, SessionId(42), token},
            wire::CloseJob{job_.job, token},
            wire::LeaveWorker{worker_, token}};
  }
  // Whether the coordinator did anything for it beside saying no.
  bool Heeded(const wire::Body& body) {
    cluster_.TakeAsItIs(PeerMessage{"stranger", body});
    const Decision& did = cluster_.last;
    return !did.updates.empty() || !did.pushes.empty() || !did.verify.empty();
  }

  Cluster cluster_;
  wire::JobOpened job_;
  WorkerId worker_;
};

TEST_F(StrangerTest, WithAnotherTokenChangesNothingAndIsToldToIntroduceItself) {
  for (const std::string token :
       {"token-of-the-worke", "token-of-the-worker2", "token-of-a-stranger"}) {
    for (const wire::Body& body : MessagesWith(token)) {
      SCOPED_TRACE(token + " in message " + std::to_string(body.index()));
      EXPECT_FALSE(Heeded(body));
      ASSERT_LE(cluster_.last.replies.size(), 1U);
      if (cluster_.last.replies.empty()) {
        EXPECT_TRUE(IsNoSession(cluster_.last.refused)) << "a line in the log";
      } else {
        const Status status = std::visit(
            [](const auto& reply) {
              if constexpr (requires { reply.status; }) return reply.status;
              return Status::Ok();
            },
            cluster_.last.replies[0].body);
        EXPECT_TRUE(IsNoSession(status)) << status.ToString();
      }
    }
  }
}

TEST_F(StrangerTest, TheTokenOfAJobIsNoneOfAWorkerAndTheOtherWayRound) {
  cluster_.OpenJob("token-of-another-job");
  for (const std::string token : {"token-of-the-job", "token-of-another-job"}) {
    wire::LeaveWorker leave{worker_, token};
    EXPECT_FALSE(Heeded(leave));
  }
  for (const std::string token : {"token-of-the-worker", "token-of-another-job"}) {
    EXPECT_FALSE(Heeded(wire::CloseJob{job_.job, token}));
  }
}

TEST_F(StrangerTest, AHeartbeatOfAnotherConsumerIsNotHeeded) {
  auto beat = std::get<wire::ConsumerHeartbeat>(MessagesWith("token-of-the-job")[0]);
  beat.consumer = ConsumerId(beat.consumer.value + 1);
  EXPECT_FALSE(Heeded(beat));
  EXPECT_TRUE(IsNoSession(std::get<wire::Leases>(cluster_.last.replies.at(0).body).status));
}

TEST_F(StrangerTest, WithoutATokenIsToldOfReleases) {
  for (const wire::Body& body : MessagesWith("")) EXPECT_FALSE(Heeded(body)) << body.index();
  cluster_.TakeAsItIs(PeerMessage{"stranger", MessagesWith("")[0]});
  const auto& leases = std::get<wire::Leases>(cluster_.last.replies.at(0).body);
  EXPECT_EQ(leases.status.code(), Code::kInvalidArgument) << "it would open its job without end";
  EXPECT_THAT(leases.status.message(), HasSubstr("release"));
  EXPECT_FALSE(cluster_.last.refused.ok()) << "such a peer does not read it";
}

TEST_F(StrangerTest, WithTheRightTokenEachOfThemCounts) {
  EXPECT_TRUE(Heeded(MessagesWith("token-of-the-worker")[1]));
  for (const std::size_t i : {0, 2, 3})
    EXPECT_TRUE(Heeded(MessagesWith("token-of-the-job")[i])) << i;
  EXPECT_TRUE(Heeded(MessagesWith("token-of-the-worker")[5]));
  EXPECT_TRUE(Heeded(MessagesWith("token-of-the-job")[4]));
}

TEST_F(StrangerTest, StatusShowsNoSecret) {
  Heeded(MessagesWith("token-of-the-job")[0]);
  Heeded(MessagesWith("token-of-the-worker")[1]);
  const wire::ClusterStatus status = cluster_.Status();
  ASSERT_THAT(status.jobs.at(0).sessions, SizeIs(1));
  const SessionId shown = status.jobs[0].sessions[0].session;
  EXPECT_NE(shown, SessionId(42)) << "a number, not its id";
  // Another session, whose id may sort before it, does not change the number.
  for (const SessionId other : {SessionId(7), SessionId(99)}) {
    cluster_.Ask<wire::SessionOpened>(wire::OpenSession{1, job_.job, other, SmallPlan()});
    auto beat = std::get<wire::ConsumerHeartbeat>(MessagesWith("token-of-the-job")[0]);
    beat.sessions.insert(beat.sessions.begin(), {.session = other});
    cluster_.Send(beat);
    const auto sessions = cluster_.Status().jobs.at(0).sessions;
    ASSERT_THAT(sessions, SizeIs(2));
    EXPECT_EQ(sessions[1].session, shown);
  }
  EXPECT_EQ(status.workers.at(0).last.token, "");
  EXPECT_EQ(status.workers[0].info.pass, "");
}

TEST_F(StrangerTest, PassesGoToTheTrainerOfTheJobAlone) {
  const std::string pass = PassOf("token-of-the-worker", job_.job);
  EXPECT_EQ(cluster_.Heartbeat(job_).workers.at(0).pass, pass);
  const auto asked = [&](const std::string& token) {
    return cluster_.Ask<wire::ClusterStatus>(wire::StatusQuery{1, job_.job, token})
        .workers.at(0)
        .info.pass;
  };
  EXPECT_EQ(asked("token-of-the-job"), pass);
  EXPECT_EQ(asked("token-of-a-stranger"), "");
  // What a worker says of itself is not passed on.
  wire::RegisterWorker liar;
  liar.token = "token-of-the-worker";
  liar.info = cluster_.state.FindWorker(worker_)->info;
  liar.info.pass = "mine";
  cluster_.Send(liar);
  EXPECT_EQ(cluster_.Status().workers.at(0).info.pass, "");
}

}  // namespace
}  // namespace headrace::coordinator
