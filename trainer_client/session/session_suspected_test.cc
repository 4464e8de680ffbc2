// A session that shares its arena with two workers played by hand, one of which stops.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "net/descriptor_channel.h"
#include "net/test_util.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Takes what it is asked for and answers when the test says so.
struct HandWorker {
  std::unique_ptr<net::Socket> socket;
  std::string peer;
  std::vector<wire::BatchRequest> requests;
  int pings = 0;
  bool stopped = false;  // answers no ping

  void Listen(net::Reactor& reactor, const std::string& endpoint) {
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& incoming) {
      peer = incoming.peer;
      if (const auto* ping = std::get_if<wire::Ping>(&incoming.body)) {
        ++pings;
        if (!stopped) Say(wire::Pong{ping->sequence});
      } else if (const auto* attach = std::get_if<wire::Attach>(&incoming.body)) {
        Say(wire::Attached{
            .request = attach->request, .session = attach->session, .use_arena = true});
      } else if (const auto* request = std::get_if<wire::BatchRequest>(&incoming.body)) {
        requests.push_back(*request);
      }
    };
    socket = *reactor.BindRouter(endpoint, std::move(events));
  }
  void Say(const wire::Body& body) const { EXPECT_TRUE(socket->Send(peer, body).ok()); }
  // As a worker on the same host: the bytes are in the slot already.
  void Answer(const wire::BatchRequest& request, std::uint64_t bytes) const {
    wire::BatchDone done;
    done.session = request.session;
    done.iteration = request.iteration;
    done.batch = request.batch;
    done.attempt = request.attempt;
    done.used_bytes = bytes;
    Say(done);
  }
};

class SuspectedTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 4096;

  SuspectedTest() : reactor_(*net::Reactor::Make("test", clock_)) {
    const std::string path = testing::TempDir() + "/hr_suspected_" + std::to_string(getpid());
    listener_ = *net::DescriptorListener::Listen(
        *reactor_, path, [](std::uint64_t, const net::DescriptorMessage&, UniqueFd) {}, {});
    SessionPump::Setup setup;
    setup.context.session = SessionId(1);
    setup.context.plan.has_python_stage = true;
    setup.context.plan.python.bundle = BlobHash(1);  // code that may run anywhere
    setup.context.host = {.hostname = "here", .boot_id = "here"};
    setup.context.arena = arena_ = *Arena::Make(std::uint64_t{16} << 20);
    setup.planner.native = false;
    core_ = std::make_shared<SessionPump>(reactor_, std::move(setup), shared_);
    std::vector<wire::WorkerInfo> leases;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string endpoint = "inproc://worker" + std::to_string(i);
      workers_[i].Listen(*reactor_, endpoint);
      wire::WorkerInfo& worker = leases.emplace_back();
      worker.worker = WorkerId(static_cast<std::int64_t>(i) + 1);
      worker.host = {.hostname = "here", .boot_id = "here"};
      worker.endpoints = {endpoint};
      worker.arena_path = path;
    }
    EXPECT_TRUE(reactor_->Start().ok());
    RunOn(*reactor_, [&] {
      core_->Start();
      core_->SetLeases(leases);
      EXPECT_TRUE(core_->Begin({}).ok());
    });
  }
  ~SuspectedTest() override {
    RunOn(*reactor_, [this] {
      core_->Shutdown();
      listener_.reset();
    });
    reactor_->Stop();
  }
  // Waits until it holds on the reactor's thread.
  template <typename Condition>
  void Await(Condition condition) {
    const SteadyTime deadline = Clock::Real().Now() + seconds(60);
    for (bool holds = false; !holds;) {
      RunOn(*reactor_, [&] { holds = condition(); });
      ASSERT_TRUE(holds || Clock::Real().Now() < deadline) << "nothing of it within a minute";
      std::this_thread::yield();
    }
  }
  void Submit(std::int64_t key) {
    RunOn(*reactor_, [&] { core_->Submit({key}, -1, clock_.Now()); });
  }
  [[nodiscard]] MutableByteSpan Memory(const wire::BatchRequest& request) {
    return arena_
        ->Memory({.id = request.slot, .offset = request.slot_offset, .bytes = request.slot_bytes})
        .first(kBytes);
  }
  // The next request to `worker`, after `before` earlier ones.
  [[nodiscard]] wire::BatchRequest Asked(HandWorker& worker, std::size_t before) {
    Await([&] { return worker.requests.size() > before; });
    return worker.requests.back();
  }

  FakeClock clock_;
  std::shared_ptr<net::Reactor> reactor_;
  std::unique_ptr<net::DescriptorListener> listener_;
  HandWorker workers_[2];
  std::shared_ptr<Arena> arena_;
  std::shared_ptr<BatchMailbox> shared_ = std::make_shared<BatchMailbox>(true);
  std::shared_ptr<SessionPump> core_;
};

// It may still write there when it goes on.
TEST_F(SuspectedTest, SlotsOfAStoppedWorkerAreSetAsideUntilItAnswers) {
  Submit(0);
  Await([&] { return !workers_[0].requests.empty() || !workers_[1].requests.empty(); });
  HandWorker& stopped = workers_[workers_[0].requests.empty() ? 1 : 0];
  HandWorker& other = workers_[workers_[0].requests.empty() ? 0 : 1];
  const wire::BatchRequest late = stopped.requests[0];
  stopped.stopped = true;
  for (int step = 0; step < 4; ++step) {
    const int before = other.pings;
    RunOn(*reactor_, [this] { clock_.Advance(milliseconds(1500)); });
    Await([&] { return other.pings > before; });
  }
  for (std::int64_t batch = 0; batch < 4; ++batch) {
    const wire::BatchRequest request = Asked(other, static_cast<std::size_t>(batch));
    ASSERT_EQ(request.batch, BatchId(batch));
    std::ranges::fill(Memory(request), std::byte{7});
    // What it was making when it stopped.
    std::ranges::fill(Memory(late), std::byte{9});
    RunOn(*reactor_, [&] {
      EXPECT_EQ(arena_->counts().quarantined, 1);
      other.Answer(request, kBytes);
    });
    const auto taken = shared_->Next(seconds(20), Clock::Real());
    ASSERT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
    EXPECT_EQ(taken->batch->batch.batch, batch);
    EXPECT_TRUE(std::ranges::all_of(Memory(request), [](std::byte b) { return b == std::byte{7}; }))
        << "batch " << batch << " lies where the stopped worker writes";
    if (batch < 3) Submit(batch + 1);
  }
  EXPECT_EQ(stopped.requests.size(), 1U);
  RunOn(*reactor_, [&] { stopped.Answer(late, kBytes); });
  Await([&] { return arena_->counts().quarantined == 0; });
}

}  // namespace
}  // namespace headrace::client
