// A session with two workers over TCP that are played by hand, one of which ends. No time passes.
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "net/test_util.h"
#include "ops/core/test_util.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using ops::testing::MakeNode;
using std::chrono::seconds;

// Takes what it is asked for, and answers nothing.
struct MuteWorker {
  std::unique_ptr<net::Socket> socket;
  std::vector<wire::BatchRequest> requests;
  int attached = 0;
  std::string peer;  // the session's, as of its last message

  void Listen(net::Reactor& reactor, const std::string& endpoint) {
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& incoming) {
      peer = incoming.peer;
      if (const auto* attach = std::get_if<wire::Attach>(&incoming.body)) {
        ++attached;
        (void)socket->Send(incoming.peer,
                           wire::Attached{.request = attach->request, .session = attach->session});
      } else if (const auto* request = std::get_if<wire::BatchRequest>(&incoming.body)) {
        requests.push_back(*request);
      }
    };
    socket = *reactor.BindRouter(endpoint, std::move(events));
  }
};

class LostTest : public testing::Test {
 protected:
  void Begin(bool python) {
    SessionPump::Setup setup;
    setup.context.session = SessionId(1);
    Plan& plan = setup.context.plan;
    if (python) {
      plan.has_python_stage = true;
      plan.python.bundle = BlobHash(1);
    } else {
      plan.chain = {MakeNode("from_array", {{"mode", std::string("L")}}), MakeNode("to_tensor")};
      plan.fields = {{FieldSpec::Kind::kChain, 0}};
    }
    setup.context.host = {.hostname = "here", .boot_id = "here"};
    setup.context.arena = *Arena::Make(std::uint64_t{4} << 20);
    setup.planner.keys = 256;
    setup.planner.native = !python;
    setup.values = {TensorSpec{DType::kF32, Layout::kChw, {1, 9, 9}}};
    core_ = std::make_shared<SessionPump>(reactor_, std::move(setup), shared_);
    std::vector<wire::WorkerInfo> leases;
    for (std::size_t i = 0; i < 2; ++i) {
      workers_[i].Listen(*reactor_, "tcp://127.0.0.1:*");
      wire::WorkerInfo& worker = leases.emplace_back();
      worker.worker = WorkerId(static_cast<std::int64_t>(i) + 1);
      worker.host = {.hostname = "elsewhere", .boot_id = "elsewhere"};
      worker.endpoints = {workers_[i].socket->endpoint()};
    }
    EXPECT_TRUE(reactor_->Start().ok());
    RunOn(*reactor_, [&] {
      core_->Start();
      core_->SetLeases(leases);
      EXPECT_TRUE(core_->Begin({}).ok());
      core_->Submit({7, 200}, -1, clock_.Now());
    });
    Await([&] { return !workers_[0].requests.empty() || !workers_[1].requests.empty(); });
    asked_ = workers_[0].requests.empty() ? 1 : 0;
  }
  ~LostTest() override {
    RunOn(*reactor_, [this] {
      core_->Shutdown();
      for (MuteWorker& worker : workers_) worker.socket.reset();
    });
    reactor_->Stop();
  }
  template <typename Condition>
  void Await(Condition condition) {
    const SteadyTime deadline = Clock::Real().Now() + seconds(20);
    for (bool holds = false; !holds;) {
      RunOn(*reactor_, [&] { holds = condition(); });
      ASSERT_TRUE(holds || Clock::Real().Now() < deadline) << "nothing of it";
      ::usleep(1000);
    }
  }

  FakeClock clock_;
  std::shared_ptr<net::Reactor> reactor_ = *net::Reactor::Make("test", clock_);
  MuteWorker workers_[2];
  std::shared_ptr<BatchMailbox> shared_ = std::make_shared<BatchMailbox>(true);
  std::shared_ptr<SessionPump> core_;
  std::size_t asked_ = 0;
};

TEST_F(LostTest, AnotherWorkerIsAskedAtOnceForWhatOneHadThatEnds) {
  Begin(/*python=*/false);
  MuteWorker& other = workers_[1 - asked_];
  EXPECT_TRUE(other.requests.empty());
  RunOn(*reactor_, [this] { workers_[asked_].socket.reset(); });
  Await([&] { return !other.requests.empty(); });
  EXPECT_EQ(other.requests.at(0).keys, (std::vector<std::int64_t>{7, 200}));
  std::vector<WorkerId> suspected;
  RunOn(*reactor_, [&] { core_->AddSuspects(suspected); });
  EXPECT_EQ(suspected, std::vector<WorkerId>{WorkerId(static_cast<std::int64_t>(asked_) + 1)})
      << "the coordinator is told";
}

// Only its connection ended: it is attached again, and asked again.
TEST_F(LostTest, AWorkerThatIsThereAgainIsUsedAgain) {
  Begin(/*python=*/false);
  MuteWorker &lost = workers_[asked_], &other = workers_[1 - asked_];
  std::string endpoint;
  RunOn(*reactor_, [&] {
    endpoint = lost.socket->endpoint();
    lost.socket.reset();
  });
  Await([&] { return !other.requests.empty(); });
  const int before = lost.attached;
  RunOn(*reactor_, [&] { lost.Listen(*reactor_, endpoint); });
  for (int i = 0; i < 40; ++i) {
    RunOn(*reactor_, [this] { clock_.Advance(std::chrono::milliseconds(100)); });
    ::usleep(5000);
  }
  Await([&] { return lost.attached > before; });
  const std::size_t asked = lost.requests.size();
  for (int i = 0; i < 8; ++i) {
    RunOn(*reactor_, [&] { core_->Submit({i, i + 1}, -1, clock_.Now()); });
  }
  Await([&] { return lost.requests.size() > asked; });
}

// Another process may be at the worker's address. It answers none of the earlier requests, also where
// the batch it was asked for is not wanted any more.
TEST_F(LostTest, AWorkerThatDoesNotKnowTheSessionIsAttachedAgainWhateverItWasAskedFor) {
  Begin(/*python=*/false);
  MuteWorker& other = workers_[asked_];
  int before = 0;
  RunOn(*reactor_, [&] {
    before = other.attached;
    core_->End();
    const wire::BatchRequest& request = other.requests.at(0);
    (void)other.socket->Send(other.peer, wire::BatchDone{.session = request.session,
                                                         .iteration = request.iteration,
                                                         .batch = request.batch,
                                                         .attempt = request.attempt,
                                                         .status = NoSession("not attached")});
  });
  Await([&] {
    clock_.Advance(std::chrono::milliseconds(10));
    return other.attached > before;
  });
}

// Its code may still be at it, and runs once.
TEST_F(LostTest, ABatchOfCodeIsNotAskedOfAnotherBecauseAConnectionEnded) {
  Begin(/*python=*/true);
  MuteWorker& other = workers_[1 - asked_];
  RunOn(*reactor_, [this] { workers_[asked_].socket.reset(); });
  std::vector<WorkerId> suspected;
  Await([&] {
    suspected.clear();
    core_->AddSuspects(suspected);
    return !suspected.empty();
  });
  // The next batch is the first that the other one is asked for.
  RunOn(*reactor_, [this] { core_->Submit({8, 201}, -1, clock_.Now()); });
  Await([&] { return !other.requests.empty() || workers_[asked_].requests.size() > 1; });
  RunOn(*reactor_, [&] {
    for (const wire::BatchRequest& request : other.requests) EXPECT_EQ(request.batch, BatchId(1));
  });
}

// A sample of it may end whoever makes it. The trainer gets the batch with all samples missing.
TEST_F(LostTest, ABatchWithWhichBothWorkersEndIsLeftToTheTrainer) {
  Begin(/*python=*/false);
  MuteWorker& other = workers_[1 - asked_];
  RunOn(*reactor_, [this] { workers_[asked_].socket.reset(); });
  Await([&] { return !other.requests.empty(); });
  RunOn(*reactor_, [&] { other.socket.reset(); });
  const auto taken = shared_->Next(seconds(20), Clock::Real());
  ASSERT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
  EXPECT_EQ(taken->batch->batch.batch, 0);
  EXPECT_EQ(taken->batch->batch.missing.size(), 2U);
}

}  // namespace
}  // namespace headrace::client
