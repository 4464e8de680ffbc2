// The client's job against a coordinator that is played by hand.
#include "trainer_client/client/job_link.h"

#include <future>
#include <memory>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "net/test_util.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;

class JobLinkTest : public testing::Test {
 protected:
  // Answers the job's requests from the `answered`-th on, as if the first answer took that long.
  explicit JobLinkTest(std::size_t answered = 1)
      : reactor_(*net::Reactor::Make("test")), answered_(answered) {
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& incoming) {
      if (const auto* session = std::get_if<wire::OpenSession>(&incoming.body)) {
        if (!restarts_) return;
        asked_for_.insert(session->session);
        EXPECT_EQ(session->files, (std::vector<std::uint64_t>{7, 8}));
        wire::SessionOpened answer{.request = session->request};
        // The job that it knew before is not known any more; the next one is.
        if (++asked_for_session_ == 1) answer.status = NoSession("no such job");
        EXPECT_TRUE(coordinator_->Send(incoming.peer, answer).ok());
      }
      const auto* open = std::get_if<wire::OpenJob>(&incoming.body);
      if (open == nullptr) return;
      requests_.push_back(open->request);
      if (requests_.size() < answered_) return;
      wire::JobOpened opened;
      opened.request = requests_[requests_.size() - answered_];
      opened.job = JobId(1);
      opened.consumer = ConsumerId(1);
      EXPECT_TRUE(coordinator_->Send(incoming.peer, opened).ok());
    };
    coordinator_ = *reactor_->BindRouter("inproc://coordinator", std::move(events));
    JobLink::Setup setup;
    setup.endpoint = "inproc://coordinator";
    setup.token = "token";
    client_ = std::make_shared<JobLink>(reactor_, std::move(setup));
    EXPECT_TRUE(reactor_->Start().ok());
  }
  ~JobLinkTest() override { reactor_->Stop(); }

  Status Start() {
    const auto opened = std::make_shared<std::promise<Status>>();
    reactor_->Post([this, opened] {
      client_->Start([opened](const Status& status) { opened->set_value(status); });
    });
    auto status = opened->get_future();
    if (status.wait_for(std::chrono::seconds(10)) != std::future_status::ready) {
      return DeadlineExceeded("the job was not opened");
    }
    return status.get();
  }

  std::shared_ptr<net::Reactor> reactor_;
  std::size_t answered_;
  std::vector<std::uint64_t> requests_;
  std::unique_ptr<net::Socket> coordinator_;
  std::shared_ptr<JobLink> client_;
  bool restarts_ = false;
  int asked_for_session_ = 0;
  std::set<SessionId> asked_for_;
};

class LateCoordinator : public JobLinkTest {
 protected:
  LateCoordinator() : JobLinkTest(3) {}
};

TEST_F(LateCoordinator, AnswersThatTakeLongerThanTheClientAsksAgainCount) {
  const Status status = Start();
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(JobLinkTest, ASessionWaitsForItsJobWhenTheCoordinatorRestarted) {
  restarts_ = true;
  ASSERT_TRUE(Start().ok());
  std::promise<Status> opened;
  auto shared = std::make_shared<BatchMailbox>(true);
  RunOn(*reactor_, [&] {
    SessionPump::Setup setup;  // one that was open before is opened again, too
    setup.context.session = SessionId(3);
    setup.context.files = {7, 8};
    setup.context.arena = *Arena::Make(1 << 20);
    client_->AddSession(std::make_shared<SessionPump>(reactor_, std::move(setup), shared));
    client_->OpenSession(SessionId(1), Plan(), {7, 8}, [&](const Result<wire::Split>& split) {
      opened.set_value(split.status());
    });
  });
  auto status = opened.get_future();
  ASSERT_EQ(status.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  const Status answer = status.get();
  EXPECT_TRUE(answer.ok()) << answer.ToString();
  bool again = false;
  for (int i = 0; i < 1000 && !again; ++i) {  // answers to the two come one after the other
    RunOn(*reactor_, [&] { again = asked_for_.contains(SessionId(3)); });
  }
  EXPECT_TRUE(again);
  RunOn(*reactor_, [this] {
    EXPECT_EQ(asked_for_session_, 3);
    EXPECT_EQ(requests_.size(), 2U) << "the job was opened again";
    client_->Shutdown();
  });
}

TEST_F(JobLinkTest, SessionsOfAClosedClientAreRefused) {
  ASSERT_TRUE(Start().ok());
  std::vector<Status> refused;
  const auto done = [&](const Result<wire::Split>& split) { refused.push_back(split.status()); };
  auto shared = std::make_shared<BatchMailbox>(true);
  RunOn(*reactor_, [&] {
    client_->OpenSession(SessionId(1), Plan(), {}, done);  // not answered yet
    client_->Shutdown();
    client_->OpenSession(SessionId(2), Plan(), {}, done);
    SessionPump::Setup setup;
    setup.context.session = SessionId(3);
    setup.context.arena = *Arena::Make(1 << 20);
    client_->AddSession(std::make_shared<SessionPump>(reactor_, std::move(setup), shared));
    client_->CloseSession(SessionId(3));
  });
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(refused[0].code(), Code::kUnavailable);
  EXPECT_EQ(refused[1].code(), Code::kUnavailable);
  const auto next = shared->Next(std::chrono::seconds(10), reactor_->clock());
  EXPECT_EQ(next.status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace headrace::client
