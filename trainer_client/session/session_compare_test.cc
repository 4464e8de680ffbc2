// A session whose code may run elsewhere, against two workers that are played by hand.
// This file is long because all tests share one way of playing them.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
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

namespace headrace::client {
namespace {

using net::testing::RunOn;
using std::chrono::seconds;

constexpr WorkerId kWorkerHere(1), kWorkerThere(2);
constexpr std::uint32_t kShadow = std::uint32_t{1} << 31;

// Makes of the state n the batch n and the state n + 1: the n-th of a lane. Reactor thread.
class Worker {
 public:
  Worker(net::Reactor& reactor, const std::string& endpoint) {
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
    done.pickle = {static_cast<std::byte>(state + wrong_by)};
    done.lane_state = {static_cast<std::byte>(state + 1 + wrong_by)};
    done.state_change = change;
    (void)socket_->Send(peer_, done);  // the session may have let go of this worker meanwhile
  }

  int wrong_by = 0;
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
    here_ = std::make_unique<Worker>(*reactor_, "inproc://here");
    there_ = std::make_unique<Worker>(*reactor_, "inproc://there");
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
    core_ = std::make_shared<SessionPump>(reactor_, std::move(setup), shared_);
    EXPECT_TRUE(reactor_->Start().ok());
  }
  ~CompareTest() override {
    RunOn(*reactor_, [this] {
      core_->Shutdown();
      listener_.reset();
    });
    reactor_->Stop();
  }
  void Start(std::vector<wire::WorkerInfo> leases) {
    RunOn(*reactor_, [&] {
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
    RunOn(*reactor_, [&] { core_->Submit({key}, -1, reactor_->clock().Now()); });
  }
  template <typename Condition>
  void Await(Condition condition) {
    const SteadyTime deadline = reactor_->clock().Now() + seconds(20);
    for (bool is = false; !is;) {
      RunOn(*reactor_, [&] { is = condition(); });
      ASSERT_LT(reactor_->clock().Now(), deadline);
    }
  }
  BatchMailbox::Taken Next() {
    auto taken = shared_->Next(seconds(20), reactor_->clock());
    EXPECT_TRUE(taken.ok()) << taken.status().ToString();
    return taken.ok() ? std::move(*taken) : BatchMailbox::Taken();
  }
  int NextContent() {
    const BatchMailbox::Taken taken = Next();
    return taken.batch ? static_cast<int>(taken.batch->batch.pickle.at(0)) : -1;
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
    RunOn(*reactor_,
          [&] { EXPECT_EQ(std::ssize(there_->asked), there_->shadows) << "it has served before"; });
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
    RunOn(*reactor_, [&] { judged = core_->Judge(suspicion, equal); });
    EXPECT_TRUE(judged.ok()) << judged.status().ToString();
    return *judged;
  }

  std::shared_ptr<net::Reactor> reactor_;
  std::unique_ptr<net::DescriptorListener> listener_;
  std::unique_ptr<Worker> here_, there_;
  wire::WorkerInfo on_here_, elsewhere_;
  std::shared_ptr<BatchMailbox> shared_ = std::make_shared<BatchMailbox>(true);
  std::shared_ptr<SessionPump> core_;
  int made_ = 0, taken_ = 0;
};

TEST_F(CompareTest, AWorkerElsewhereServesAfterTwoEqualBatches) {
  Trust();
  const std::uint64_t before = shared_->Stats(reactor_->clock()).compared;
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_);
  RunOn(*reactor_, [&] {
    EXPECT_LT(there_->asked.back().attempt, kShadow);
    EXPECT_EQ(here_->asked.back().attempt & kShadow, kShadow) << "made again here";
    EXPECT_EQ(here_->asked.back().lane_state, there_->asked.back().lane_state);
  });
  Await([&] { return core_->Load().compared == before + 1; });
  EXPECT_EQ(core_->Load().differed, 0U);
}

// Its code keeps no state, so it may be made twice.
TEST_F(CompareTest, ALateBatchOfAWorkerElsewhereIsMadeHereToo) {
  Trust();
  for (int i = 0; i < 4; ++i) {  // what is late is known then
    Submit(kWorkerHere);
    EXPECT_EQ(NextContent(), made_++);
  }
  RunOn(*reactor_, [this] { there_->mute = true; });
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_);
  RunOn(*reactor_, [this] {
    EXPECT_LT(there_->asked.back().attempt, kShadow);
    EXPECT_EQ(here_->asked.back().batch, there_->asked.back().batch);
    EXPECT_LT(here_->asked.back().attempt, kShadow) << "asked for itself, and not to compare";
    EXPECT_EQ(here_->asked.back().lane_state, there_->asked.back().lane_state);
  });
}

TEST_F(CompareTest, NewLanesAreNewOnesElsewhereToo) {
  Trust();
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_);
  std::uint64_t before = 0;
  RunOn(*reactor_, [&] {
    before = there_->asked.back().lane_set;
    core_->SetLanes({});
    EXPECT_TRUE(core_->Begin({}).ok());
  });
  Submit(kWorkerHere);
  EXPECT_EQ(NextContent(), 0);
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), 1);
  RunOn(*reactor_, [&] { EXPECT_GT(there_->asked.back().lane_set, before); });
}

TEST_F(CompareTest, AWorkerOnTrialThatDiffersIsWithdrawnAndNothingOfItWasConsumed) {
  there_->wrong_by = 100;
  Start({on_here_, elsewhere_});
  const Suspicion suspicion = Suspect();
  EXPECT_EQ(suspicion.host, "elsewhere");
  EXPECT_EQ(suspicion.worker, kWorkerThere.value);
  ASSERT_FALSE(suspicion.here.pickle.empty());
  EXPECT_EQ(static_cast<int>(suspicion.here.pickle[0]), suspicion.batch);
  EXPECT_EQ(static_cast<int>(suspicion.there.pickle.at(0)), suspicion.batch + 100);
  EXPECT_EQ(Judge(suspicion.id, false).consumed, 0U);
  Await([&] { return there_->detached == 1; });
  // This holds also when it is leased again.
  RunOn(*reactor_, [&] {
    core_->SetLeases({on_here_});
    core_->SetLeases({on_here_, elsewhere_});
    EXPECT_EQ(core_->Judge(suspicion.id, false).status().code(), Code::kInvalidArgument);
  });
  for (int batch = 0; batch < 4; ++batch) Submit(kWorkerThere);
  while (taken_ < made_ + 4) EXPECT_EQ(NextContent(), taken_++);
  RunOn(*reactor_, [&] {
    EXPECT_EQ(there_->asked.size(), 1U);
    EXPECT_EQ(there_->attached, 1);
  });
  EXPECT_EQ(shared_->Stats(reactor_->clock()).differed, 1U);
}

TEST_F(CompareTest, OtherBytesOfEqualValuesAreNoDifference) {
  there_->wrong_by = 100;
  Start({on_here_, elsewhere_});
  for (int batch = 0; batch < 2; ++batch) Judge(Suspect().id, true);
  Submit(kWorkerThere);
  Await([&] { return there_->asked.back().attempt < kShadow; });
  EXPECT_EQ(shared_->Stats(reactor_->clock()).differed, 0U);
}

TEST_F(CompareTest, WhatAWithdrawnWorkerMadeIsMadeAgainWithWhatWentOnFromIt) {
  Trust();
  std::size_t asked = 0;
  RunOn(*reactor_, [&] {
    asked = here_->asked.size();
    there_->wrong_by = 50;
    here_->holds_shadows = true;
  });
  Submit(kWorkerThere);
  for (int batch = 1; batch < 4; ++batch) Submit(kWorkerHere);  // from its wrong state
  Await([&] { return here_->held && here_->asked.size() == asked + 4; });
  RunOn(*reactor_, [&] { here_->Answer(*here_->held); });
  Submit(kWorkerHere);
  Submit(kWorkerHere);
  Await([&] { return here_->asked.size() == asked + 6; });  // so the shadow has come before
  const BatchMailbox::Taken taken = Next();
  ASSERT_TRUE(taken.suspicion);
  EXPECT_EQ(taken.suspicion->batch, made_);
  EXPECT_EQ(Judge(taken.suspicion->id, false).consumed, 0U);
  for (int batch = 0; batch < 6; ++batch) EXPECT_EQ(NextContent(), made_ + batch);
}

TEST_F(CompareTest, WhatWasConsumedOfAWithdrawnWorkerIsNamedAndASuspectedOneGetsNothing) {
  Trust();
  RunOn(*reactor_, [&] {
    there_->wrong_by = 50;
    here_->holds_shadows = true;
  });
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_ + 50);
  Await([&] { return here_->held.has_value(); });
  RunOn(*reactor_, [&] { here_->Answer(*here_->held); });
  const BatchMailbox::Taken taken = Next();
  ASSERT_TRUE(taken.suspicion);
  std::size_t asked = 0;
  RunOn(*reactor_, [&] { asked = there_->asked.size(); });
  Submit(kWorkerThere);
  EXPECT_EQ(Next().batch->batch.batch, made_ + 1);
  RunOn(*reactor_, [&] { EXPECT_EQ(there_->asked.size(), asked); });
  const Withdrawal withdrawal = Judge(taken.suspicion->id, false);
  EXPECT_EQ(withdrawal.consumed, 1U);
  EXPECT_EQ(withdrawal.batches, std::vector<std::int64_t>{made_});
}

TEST_F(CompareTest, CodeThatIsSeenToKeepStateBeforeAnyMoveGoesNowhere) {
  here_->change = "x was 0 and is 1";
  Start({on_here_, elsewhere_});
  Submit(kWorkerThere);
  const BatchMailbox::Taken told = Next();
  ASSERT_TRUE(told.change);
  EXPECT_FALSE(told.change->judged);
  EXPECT_EQ(told.change->what, "x was 0 and is 1");
  EXPECT_EQ(told.change->host, "here");
  const BatchMailbox::Taken verdict = Next();
  ASSERT_TRUE(verdict.change);
  EXPECT_TRUE(verdict.change->judged);
  EXPECT_EQ(verdict.change->differing.consumed, 0U);
  EXPECT_EQ(NextContent(), 0);
  Await([&] { return there_->detached == 1; });
  for (int content = 1; content < 4; ++content) {
    Submit(kWorkerThere);
    EXPECT_EQ(NextContent(), content);
  }
  RunOn(*reactor_, [&] {
    EXPECT_EQ(std::ssize(there_->asked), there_->shadows) << "it has served";
    EXPECT_EQ(here_->asked.size(), 4U) << "its lane was right, and nothing is made again";
  });
}

TEST_F(CompareTest, ALaneThatHasMovedIsMadeAgainFromItsFirstBatch) {
  Trust();
  Submit(kWorkerThere);
  EXPECT_EQ(NextContent(), made_++);
  std::size_t before = 0;
  RunOn(*reactor_, [&] {
    there_->change = "x was 0 and is 1";
    here_->holds_shadows = true;
    before = here_->asked.size();
  });
  Submit(kWorkerThere);
  const BatchMailbox::Taken told = Next();
  ASSERT_TRUE(told.change);
  EXPECT_EQ(told.change->host, "elsewhere");
  const BatchMailbox::Taken verdict = Next();
  ASSERT_TRUE(verdict.change);
  EXPECT_TRUE(verdict.change->judged);
  EXPECT_EQ(verdict.change->differing.consumed, 0U) << "they were the same";
  EXPECT_EQ(NextContent(), made_);
  RunOn(*reactor_, [&] {
    std::vector<std::int64_t> again;
    for (std::size_t i = before; i < here_->asked.size(); ++i) {
      if (here_->asked[i].attempt < kShadow) again.push_back(here_->asked[i].batch.value);
    }
    std::vector<std::int64_t> all(static_cast<std::size_t>(made_) + 1);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(again, all);
    EXPECT_EQ(core_->Undecided(), 0);
  });
}

TEST_F(CompareTest, BatchesThatTheLaneMakesOtherwiseAndThatWereTakenAreNamed) {
  Trust();
  const int from_here = made_;
  for (int i = 0; i < 2; ++i) {
    Submit(kWorkerThere);
    EXPECT_EQ(NextContent(), made_++);
  }
  RunOn(*reactor_, [&] {
    there_->change = "x was 0 and is 1";
    here_->wrong_by = 50;  // as if the state had changed what is made
    here_->holds_shadows = true;
  });
  Submit(kWorkerThere);
  EXPECT_TRUE(Next().change);
  const BatchMailbox::Taken verdict = Next();
  ASSERT_TRUE(verdict.change);
  EXPECT_EQ(verdict.change->differing.consumed, 2U);
  EXPECT_EQ(verdict.change->differing.batches,
            (std::vector<std::int64_t>{from_here, from_here + 1}));
}

TEST_F(CompareTest, WithoutAWorkerOnThisHostNobodyMayServe) {
  Start({elsewhere_});
  const Status served = shared_->AwaitServed(seconds(20), reactor_->clock());
  EXPECT_EQ(served.code(), Code::kUnsupported);
  EXPECT_NE(served.message().find("has to be compared with this host"), std::string::npos)
      << served.ToString();
}

class PatientTest : public CompareTest {
 protected:
  PatientTest() : CompareTest(std::chrono::hours(1)) {}
};

TEST_F(PatientTest, AWorkerOfThisHostMayStillCome) {
  RunOn(*reactor_, [&] {
    core_->Start();
    core_->SetLeases({elsewhere_});
    EXPECT_EQ(shared_->AwaitServed(std::chrono::milliseconds(0), reactor_->clock()).code(),
              Code::kDeadlineExceeded);
    core_->SetLeases({on_here_, elsewhere_});
  });
  EXPECT_TRUE(shared_->AwaitServed(seconds(20), reactor_->clock()).ok());
}

TEST_F(CompareTest, AWorkerOnTrialIsNotOneThatServes) {
  Start({on_here_, elsewhere_});
  EXPECT_TRUE(shared_->AwaitServed(seconds(20), reactor_->clock()).ok());
}

}  // namespace
}  // namespace headrace::client
