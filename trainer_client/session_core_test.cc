// A session against a worker that is played by hand.
#include "trainer_client/session_core.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "net/test_util.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using std::chrono::seconds;

// The worker is on another host, so that batches come as messages, and they are empty.
class SessionCoreTest : public testing::Test {
 protected:
  SessionCoreTest() : SessionCoreTest(seconds(10), 0) {}
  // It attaches the session behind so many signs of life.
  SessionCoreTest(Duration worker_timeout, std::uint64_t pongs_before_attached)
      : pongs_before_attached_(pongs_before_attached), reactor_(*net::Reactor::Make("test")) {
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& incoming) {
      if (std::holds_alternative<wire::Ping>(incoming.body)) {
        if (dead_) return;
        EXPECT_TRUE(worker_->Send(incoming.peer, wire::Pong{++pongs_}).ok());
      } else if (const auto* attach = std::get_if<wire::Attach>(&incoming.body)) {
        if (pongs_ < pongs_before_attached_) return;
        ++attached_;
        wire::Attached answer;
        answer.request = attach->request;
        answer.session = attach->session;
        EXPECT_TRUE(worker_->Send(incoming.peer, answer).ok());
      } else if (const auto* request = std::get_if<wire::BatchRequest>(&incoming.body)) {
        OnRequest(incoming.peer, *request);
      }
    };
    worker_ = *reactor_->BindRouter("inproc://worker", std::move(events));
    SessionCore::Setup setup;
    setup.context.session = SessionId(1);
    setup.context.plan.has_python_stage = true;
    setup.context.host = {.hostname = "here", .boot_id = "here"};
    setup.context.arena = arena_ = *Arena::Make(std::uint64_t{4} << 20);
    setup.context.blobs = std::make_unique<BlobStore>(std::map<BlobHash, Blob>());
    setup.planner.native = false;
    setup.worker_timeout = worker_timeout;
    core_ = std::make_shared<SessionCore>(reactor_, std::move(setup), shared_);
    EXPECT_TRUE(reactor_->Start().ok());
    RunOn(*reactor_, [this] {
      wire::WorkerInfo worker;
      worker.worker = WorkerId(1);
      worker.host = {.hostname = "elsewhere", .boot_id = "elsewhere"};
      worker.endpoints = {"inproc://worker"};
      core_->Start();
      core_->SetLeases({worker});
      EXPECT_TRUE(core_->Begin({}).ok());
    });
  }
  ~SessionCoreTest() override {
    RunOn(*reactor_, [this] { core_->Shutdown(); });
    reactor_->Stop();
  }
  void Answer(const std::string& peer, const wire::BatchRequest& request, Status status) {
    wire::BatchDone done;
    done.session = request.session;
    done.iteration = request.iteration;
    done.batch = request.batch;
    done.attempt = request.attempt;
    done.status = std::move(status);
    EXPECT_TRUE(worker_->Send(peer, done).ok());
  }
  // Until it was attached a second time it swallows what it is asked; the third request tells it
  // that it has lost the session.
  void OnRequest(const std::string& peer, const wire::BatchRequest& request) {
    if (attached_ > 1) {
      Answer(peer, request, Status::Ok());
    } else if (++swallowed_ == 3) {
      Answer(peer, request, NotFound("session 1 is not attached"));
    }
  }

  const std::uint64_t pongs_before_attached_;
  std::uint64_t pongs_ = 0;
  bool dead_ = false;
  std::shared_ptr<net::Reactor> reactor_;
  std::unique_ptr<net::Socket> worker_;
  std::shared_ptr<Arena> arena_;
  std::shared_ptr<SessionShared> shared_ = std::make_shared<SessionShared>(true);
  std::shared_ptr<SessionCore> core_;
  int attached_ = 0, swallowed_ = 0;
};

TEST_F(SessionCoreTest, SlotsOfASessionThatTheWorkerForgotAreFree) {
  RunOn(*reactor_, [this] {
    for (std::int64_t key = 0; key < 3; ++key) core_->Submit({key});
  });
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    const auto taken = shared_->Next(seconds(20), reactor_->clock());
    ASSERT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
    EXPECT_EQ(taken->batch->batch.batch, batch);
  }
  RunOn(*reactor_, [this] {
    const Arena::Counts counts = arena_->counts();
    EXPECT_EQ(counts.lent + counts.quarantined, 0) << "a slot is lent to nobody";
    EXPECT_EQ(attached_, 2);
  });
}

// Its code takes twice as long to import as an unreachable worker is waited for.
class SlowWorkerTest : public SessionCoreTest {
 protected:
  SlowWorkerTest() : SessionCoreTest(seconds(2), 4) {}
};

TEST_F(SlowWorkerTest, AWorkerThatIsStillLoadingIsWaitedFor) {
  RunOn(*reactor_, [this] {
    swallowed_ = 2;  // the next request is answered
    core_->Submit({0});
  });
  const auto taken = shared_->Next(seconds(20), reactor_->clock());
  ASSERT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
  RunOn(*reactor_, [this] { EXPECT_GE(pongs_, pongs_before_attached_); });
}

TEST_F(SlowWorkerTest, ADeadOneIsNot) {
  RunOn(*reactor_, [this] {
    dead_ = true;
    core_->Submit({0});
  });
  const auto taken = shared_->Next(seconds(20), reactor_->clock());
  EXPECT_EQ(taken.status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace headrace::client
