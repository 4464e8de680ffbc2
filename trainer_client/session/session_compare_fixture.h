#pragma once

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/version.h"
#include "gtest/gtest.h"
#include "net/descriptor_channel.h"
#include "net/test_util.h"
#include "trainer_client/session/session_pump.h"
#include "trainer_client/session/test_pickles.h"

// A session whose code may run elsewhere, against two workers that are played by hand.
namespace headrace::client {

inline constexpr WorkerId kWorkerHere(1), kWorkerThere(2);
inline constexpr std::uint32_t kShadow = std::uint32_t{1} << 31;

// Makes of the state n the batch n and the state n + 1: the n-th of a lane. Reactor thread.
class PlayedWorker {
 public:
  PlayedWorker(net::Reactor& reactor, const std::string& endpoint) {
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& incoming) {
      peer_ = incoming.peer;
      if (const auto* attach = std::get_if<wire::Attach>(&incoming.body)) {
        wire::Attached answer{.request = attach->request, .session = attach->session};
        answer.use_arena = attach->use_arena;
        ++attached;
        (void)socket_->Send(peer_, answer);
      } else if (const auto* request = std::get_if<wire::BatchRequest>(&incoming.body)) {
        asked.push_back(*request);
        const bool shadow = request->attempt >= kShadow;
        if (shadow) ++shadows;
        if (shadow && holds_shadows) {
          held = *request;
        } else if (!mute) {
          Answer(*request);
        }
      } else if (std::holds_alternative<wire::Detach>(incoming.body)) {
        ++detached;
      }
    };
    socket_ = *reactor.BindRouter(endpoint, std::move(events));
  }
  void Answer(const wire::BatchRequest& request) {
    const int state = request.lane_state.empty() ? 0 : static_cast<int>(request.lane_state.front());
    wire::BatchDone done;
    done.session = request.session;
    done.iteration = request.iteration;
    done.batch = request.batch;
    done.attempt = request.attempt;
    done.pickle =
        names.empty() ? PickleOf(state + wrong_by) : PickleOfCall(names, "Batch", state + wrong_by);
    done.lane_state = {static_cast<std::byte>(state + 1 + wrong_by)};
    done.state_change = change;
    (void)socket_->Send(peer_, done);  // the session may have let go of this worker meanwhile
  }

  int wrong_by = 0;
  std::string names;   // its batches are made by this module's class
  std::string change;  // what its code is seen to keep
  bool holds_shadows = false;
  bool mute = false;  // takes batches, and answers none
  std::optional<wire::BatchRequest> held;
  std::vector<wire::BatchRequest> asked;
  int shadows = 0, attached = 0, detached = 0;

 private:
  std::string peer_;
  std::unique_ptr<net::Socket> socket_;
};

class CompareTest : public testing::Test {
 protected:
  explicit CompareTest(Duration patience = Duration(0)) : reactor_(*net::Reactor::Make("test")) {
    const std::string path = testing::TempDir() + "/compare" + std::to_string(::getpid());
    listener_ = *net::DescriptorListener::Listen(
        *reactor_, path, [](auto...) {}, [](auto...) {});
    here_ = std::make_unique<PlayedWorker>(*reactor_, "inproc://here");
    there_ = std::make_unique<PlayedWorker>(*reactor_, "inproc://there");
    on_here_.worker = kWorkerHere;
    on_here_.host = {.hostname = "here", .boot_id = "here"};
    on_here_.endpoints = {"inproc://here"};
    on_here_.arena_path = path;
    on_here_.version = kVersion;
    elsewhere_.worker = kWorkerThere;
    elsewhere_.host = {.hostname = "elsewhere", .boot_id = "elsewhere"};
    elsewhere_.endpoints = {"inproc://there"};
    SessionPump::Setup setup;
    setup.context.session = SessionId(1);
    setup.context.plan.has_python_stage = true;
    setup.context.plan.python.bundle = BlobHash(1);
    setup.context.plan.rng = RngMode::kTorch;
    setup.context.gives_lanes = true;
    setup.context.host = on_here_.host;
    setup.context.arena = *Arena::Make(std::uint64_t{4} << 20);
    setup.options.compare_every = 1;
    setup.without_workers.reference_patience = patience;
    setup.planner.native = false;
    setup.options.closed_modules = {"os"};
    core_ = std::make_shared<SessionPump>(reactor_, std::move(setup), shared_);
    EXPECT_TRUE(reactor_->Start().ok());
  }
  ~CompareTest() override {
    net::testing::RunOn(*reactor_, [this] {
      core_->Shutdown();
      listener_.reset();
    });
    reactor_->Stop();
  }
  void Start(std::vector<wire::WorkerInfo> leases) {
    net::testing::RunOn(*reactor_, [&] {
      core_->Start();
      core_->SetLeases(leases);
      EXPECT_TRUE(core_->Begin({}).ok());
    });
  }
  // A key whose batches go to this worker while both are idle.
  static std::int64_t KeyFor(WorkerId worker) {
    for (std::int64_t key = 0;; ++key) {
      Dispatcher both({});
      both.SetWorker(kWorkerHere, Dispatcher::WorkerState::kReady);
      both.SetWorker(kWorkerThere, Dispatcher::WorkerState::kReady);
      both.Add(0, 1, std::span(&key, 1), 0);
      if (both.Poll({}).front().worker == worker) return key;
    }
  }
  void Submit(WorkerId worker) {
    const std::int64_t key = KeyFor(worker);
    net::testing::RunOn(*reactor_, [&] { core_->Submit({key}, -1, reactor_->clock().Now()); });
  }
  template <typename Condition>
  void Await(Condition condition) {
    const SteadyTime deadline = reactor_->clock().Now() + std::chrono::seconds(20);
    for (bool is = false; !is;) {
      net::testing::RunOn(*reactor_, [&] { is = condition(); });
      ASSERT_LT(reactor_->clock().Now(), deadline);
    }
  }
  BatchMailbox::Taken Next() {
    auto taken = shared_->Next(std::chrono::seconds(20), reactor_->clock());
    EXPECT_TRUE(taken.ok()) << taken.status().ToString();
    return taken.ok() ? std::move(*taken) : BatchMailbox::Taken();
  }
  int NextContent() {
    const BatchMailbox::Taken taken = Next();
    return taken.batch ? NumberIn(taken.batch->batch.pickle) : -1;
  }
  // Batches that the worker elsewhere would get if it were trusted, until it is: made_ of them, all
  // taken.
  void Trust() {
    Start({on_here_, elsewhere_});
    while (!HasFailure() && shared_->Stats(reactor_->clock()).compared < 2) {
      Submit(kWorkerThere);
      EXPECT_EQ(NextContent(), made_++);
      bool open = true;
      Await([&] {  // one at a time, of those that it knows
        open = shared_->Stats(reactor_->clock()).compared <
               static_cast<std::uint64_t>(there_->shadows);
        return !open;
      });
    }
    net::testing::RunOn(*reactor_, [&] {
      EXPECT_EQ(std::ssize(there_->asked), there_->shadows) << "it has served before";
    });
  }
  // The same until there is a suspicion; some batches were not taken.
  Suspicion Suspect() {
    for (;;) {
      Submit(kWorkerThere);
      ++made_;
      BatchMailbox::Taken taken = Next();
      if (taken.suspicion) return std::move(*taken.suspicion);
      if (!taken.batch) return {};
      ++taken_;
    }
  }
  Withdrawal Judge(std::uint64_t suspicion, bool equal) {
    Result<Withdrawal> judged = Withdrawal();
    net::testing::RunOn(*reactor_, [&] { judged = core_->Judge(suspicion, equal); });
    EXPECT_TRUE(judged.ok()) << judged.status().ToString();
    return *judged;
  }

  std::shared_ptr<net::Reactor> reactor_;
  std::unique_ptr<net::DescriptorListener> listener_;
  std::unique_ptr<PlayedWorker> here_, there_;
  wire::WorkerInfo on_here_, elsewhere_;
  std::shared_ptr<BatchMailbox> shared_ = std::make_shared<BatchMailbox>(true);
  std::shared_ptr<SessionPump> core_;
  int made_ = 0, taken_ = 0;
};

}  // namespace headrace::client
