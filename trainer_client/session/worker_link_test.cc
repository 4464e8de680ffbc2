// Links to a worker that is played by hand: it is full, or has no room for the plan's content.
#include "trainer_client/session/worker_link.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/test_util.h"
#include "trainer_client/session/without_workers.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WorkerLinkTest : public testing::Test {
 protected:
  WorkerLinkTest() {
    context_.session = SessionId(1);
    context_.host = {.hostname = "here", .boot_id = "here"};
    context_.arena = *Arena::Make(std::uint64_t{1} << 20);
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& incoming) {
      peer_ = incoming.peer;
      const auto* attach = std::get_if<wire::Attach>(&incoming.body);
      if (attach == nullptr) return;
      request_ = attach->request;
      ++attached_;
      Say(room_ ? Status::Ok() : ResourceExhausted("5 attached loaders are over the limit of 4"));
    };
    EXPECT_TRUE(reactor_->Start().ok());
    RunOn(*reactor_, [&] {
      socket_ = *reactor_->BindRouter("tcp://127.0.0.1:*", std::move(events));
      workers_ = std::make_unique<WorkerSet>(
          *reactor_, context_, false,
          WorkerSet::Events{
              .on_state = [this](WorkerId, WorkerLink::State state) { states_.push_back(state); },
              .on_message = [](auto...) {},
              .on_loaded = [] {},
              .on_lost = [](WorkerId) {}});
      wire::WorkerInfo worker;
      worker.worker = WorkerId(7);
      worker.host = {.hostname = "elsewhere", .boot_id = "elsewhere"};
      worker.endpoints = {socket_->endpoint()};
      workers_->SetLeases({worker}, clock_.Now());
    });
  }
  ~WorkerLinkTest() override {
    RunOn(*reactor_, [this] {
      workers_.reset();
      socket_.reset();
    });
    reactor_->Stop();
  }
  void Say(const Status& status) {
    (void)socket_->Send(
        peer_, wire::Attached{.request = request_, .session = context_.session, .status = status});
  }
  // Moves the clock until it holds.
  template <typename Condition>
  void Await(Condition condition) {
    const SteadyTime deadline = Clock::Real().Now() + seconds(20);
    for (bool holds = false; !holds;) {
      RunOn(*reactor_, [&] {
        clock_.Advance(milliseconds(10));
        holds = condition();
      });
      ASSERT_TRUE(holds || Clock::Real().Now() < deadline) << "nothing of it";
      ::usleep(1000);
    }
  }
  [[nodiscard]] std::vector<wire::UnfitWorker> Unfit() {
    std::vector<wire::UnfitWorker> unfit;
    RunOn(*reactor_, [&] { workers_->AddUnfit({}, {}, unfit); });
    return unfit;
  }

  FakeClock clock_;
  std::shared_ptr<net::Reactor> reactor_ = *net::Reactor::Make("test", clock_);
  std::unique_ptr<net::Socket> socket_;
  LinkContext context_;
  std::unique_ptr<WorkerSet> workers_;
  std::vector<WorkerLink::State> states_;
  std::string peer_;
  std::uint64_t request_ = 0;
  int attached_ = 0;
  bool room_ = false;
};

TEST_F(WorkerLinkTest, AFullWorkerIsAskedAgainUntilItHasRoom) {
  Await([&] { return attached_ >= 3; });
  RunOn(*reactor_, [&] {
    EXPECT_THAT(states_, IsEmpty()) << "it is neither ready nor refused";
    EXPECT_TRUE(workers_->AllRefuse().ok()) << "it may have room later";
    EXPECT_THAT(workers_->NoRoom().message(), HasSubstr("limit of 4"));
  });
  const auto unfit = Unfit();
  ASSERT_EQ(unfit.size(), 1U);
  EXPECT_EQ(unfit[0].worker, WorkerId(7));
  EXPECT_THAT(unfit[0].reason, HasSubstr("is full: 5 attached loaders are over the limit of 4"));
  EXPECT_FALSE(unfit[0].slow);
  RunOn(*reactor_, [&] { room_ = true; });
  Await([&] { return workers_->ready(WorkerId(7)); });
  EXPECT_THAT(Unfit(), IsEmpty());
  RunOn(*reactor_, [&] { EXPECT_TRUE(workers_->NoRoom().ok()); });
}

TEST_F(WorkerLinkTest, ItIsAskedLessAndLessOften) {
  // 0.5 s, 1 s, 2 s, 4 s: the sixth time comes after 15.5 s, where all had 0.5 s after 2.5 s.
  const SteadyTime start = clock_.Now();
  Await([&] { return attached_ >= 6; });
  EXPECT_GE(clock_.Now() - start, seconds(15));
}

TEST_F(WorkerLinkTest, WhoWaitsForRoomHasALineThatSaysSo) {
  WithoutWorkers::Decision decision;
  const auto says = [&] {
    WithoutWorkers without({.then = NoWorkers::kWait, .timeout = seconds(10), .remedy = "remedy"});
    without.Start(SteadyTime(seconds(0)));
    decision = without.Check(*workers_, 0, SteadyTime(seconds(11)));
    return decision.say.find("has room") != std::string::npos;
  };
  Await(says);  // until the worker's answer has come
  EXPECT_TRUE(decision.error.ok()) << decision.error.ToString();
  EXPECT_THAT(decision.say, HasSubstr("no data worker of this job has room (5 attached loaders"));
}

// The plan's content came, and the worker has no room for it: it would refuse each batch, and so
// always be the least busy.
TEST_F(WorkerLinkTest, AWorkerWithoutRoomForTheContentIsLeftAndLinkedToAgain) {
  RunOn(*reactor_, [&] { room_ = true; });
  Await([&] { return workers_->ready(WorkerId(7)); });
  RunOn(*reactor_, [&] { Say(ResourceExhausted("no memory for its table")); });
  Await([&] { return !states_.empty() && states_.back() == WorkerLink::State::kGone; });
  RunOn(*reactor_, [&] {
    EXPECT_TRUE(workers_->AllRefuse().ok()) << "not for good";
    workers_->RemoveEnded(
        true, [](WorkerId) { return false; }, [](WorkerId) {});
    EXPECT_EQ(workers_->Find(WorkerId(7)), nullptr);
  });
  Await([&] {
    workers_->Tick(clock_.Now());
    return workers_->ready(WorkerId(7));
  });
}

TEST_F(WorkerLinkTest, AWorkerThatCannotRunThePlanIsRefusedForGood) {
  RunOn(*reactor_, [&] { room_ = true; });
  Await([&] { return workers_->ready(WorkerId(7)); });
  RunOn(*reactor_, [&] { Say(Unsupported("no module named timm")); });
  Await([&] { return !states_.empty() && states_.back() == WorkerLink::State::kGone; });
  RunOn(*reactor_, [&] { EXPECT_EQ(workers_->AllRefuse().code(), Code::kUnsupported); });
}

}  // namespace
}  // namespace headrace::client
