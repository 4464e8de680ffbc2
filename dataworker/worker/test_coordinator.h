#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "dataworker/worker/worker_test_base.h"

namespace headrace::dataworker {

// A coordinator played by hand: registers a worker, and answers each heartbeat with what it is
// told.
class TestCoordinator {
 public:
  explicit TestCoordinator(const std::string& endpoint)
      : reactor_(*net::Reactor::Make("test-coord")) {
    EXPECT_TRUE(reactor_->Start().ok());
    OnReactorThread(*reactor_, [&] {
      net::SocketEvents events;
      events.on_message = [this](net::Incoming&& incoming) { OnMessage(incoming); };
      auto socket = reactor_->BindRouter(endpoint, std::move(events));
      EXPECT_TRUE(socket.ok()) << socket.status().ToString();
      socket_ = std::move(socket).value();
    });
  }
  ~TestCoordinator() {
    OnReactorThread(*reactor_, [this] { socket_.reset(); });
    reactor_->Stop();
  }
  void Say(const wire::WorkerDirective& directive) {
    OnReactorThread(*reactor_, [&] { directive_ = directive; });
  }
  // The number of directives that went out.
  [[nodiscard]] std::uint64_t sent() {
    return OnReactorThread(*reactor_, [this] { return sent_; });
  }
  // What the worker registered with.
  [[nodiscard]] std::string token() {
    return OnReactorThread(*reactor_, [this] { return token_; });
  }
  // Waits for the worker's next heartbeat, which is then answered.
  wire::WorkerHeartbeat Next() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !heard_.empty(); }));
    if (heard_.empty()) return {};
    wire::WorkerHeartbeat beat = std::move(heard_.front());
    heard_.pop_front();
    return beat;
  }

 private:
  // The worker may have ended since it sent what is answered here.
  void SendTo(const std::string& peer, const wire::Body& body) {
    const Status sent = socket_->Send(peer, body);
    EXPECT_TRUE(sent.ok() || sent.code() == Code::kNotFound) << sent.ToString();
  }
  void OnMessage(const net::Incoming& incoming) {
    if (const auto* open = std::get_if<wire::RegisterWorker>(&incoming.body)) {
      token_ = open->token;
      wire::WorkerRegistered answer;
      answer.request = open->request;
      answer.worker = WorkerId(1);
      answer.heartbeat_ms = 1000;
      SendTo(incoming.peer, answer);
    } else if (const auto* beat = std::get_if<wire::WorkerHeartbeat>(&incoming.body)) {
      wire::WorkerDirective answer = directive_;
      answer.request = beat->request;
      SendTo(incoming.peer, answer);
      // Unasked ones, as when a lease changes, count for nothing where sessions are given up.
      answer.request = 0;
      for (int i = 0; i < 10; ++i) SendTo(incoming.peer, answer);
      sent_ += 11;
      const std::lock_guard lock(mutex_);
      heard_.push_back(*beat);
      changed_.notify_all();
    }
  }

  std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<net::Socket> socket_;
  wire::WorkerDirective directive_;
  std::uint64_t sent_ = 0;
  std::string token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<wire::WorkerHeartbeat> heard_;
};

// A worker under such a coordinator, and a clock that the test moves.
class CoordinatedWorkerTest : public WorkerTest {
 protected:
  // Called by SetUp, after WorkerTest's.
  void Begin(WorkerOptions options = {}, const SourceRegistry& sources = BuiltinSources()) {
    options.coordinator = "ipc://" + directory_.path() + "/control";
    coordinator_ = std::make_unique<TestCoordinator>(options.coordinator);
    worker_ = std::make_unique<TestWorker>(options, clock_, BuiltinCacheTiers(), sources);
    worker_->AwaitRegistered();
    worker_->KnowToken(coordinator_->token());
  }
  void TearDown() override {
    worker_.reset();
    coordinator_.reset();
  }
  void Advance(Duration by) {
    OnReactorThread(worker_->reactor(), [&] { clock_.Advance(by); });
  }

  FakeClock clock_;
  std::unique_ptr<TestCoordinator> coordinator_;
  std::unique_ptr<TestWorker> worker_;
};

}  // namespace headrace::dataworker
