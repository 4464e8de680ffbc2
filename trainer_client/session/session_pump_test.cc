// A session against a worker that is played by hand.
#include "trainer_client/session/session_pump.h"

#include <array>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "net/test_util.h"
#include "ops/core/generators.h"
#include "trainer_client/session/test_pickles.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using std::chrono::seconds;

// The worker is on another host, so that batches come as messages, and they are empty.
class SessionPumpTest : public testing::Test {
 protected:
  SessionPumpTest() : SessionPumpTest(seconds(10), 0) {}
  // It attaches the session after this many signs of life.
  SessionPumpTest(Duration worker_timeout, std::uint64_t pongs_before_attached, bool native = false,
                  bool leased = true, NoWorkers no_workers = NoWorkers::kFail)
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
      } else if (const auto* describe = std::get_if<wire::Describe>(&incoming.body)) {
        const TensorSpec small{DType::kU8, Layout::kHwc, {4, 4, 4}};
        const std::vector<std::optional<TensorSpec>> specs(describe->keys.size(), small);
        EXPECT_TRUE(worker_
                        ->Send(incoming.peer, wire::Described{.request = describe->request,
                                                              .session = describe->session,
                                                              .specs = specs})
                        .ok());
      }
    };
    worker_ = *reactor_->BindRouter("inproc://worker", std::move(events));
    SessionPump::Setup setup;
    setup.context.session = SessionId(1);
    setup.context.plan.has_python_stage = !native;
    if (!native) setup.context.plan.python.bundle = BlobHash(1);
    setup.context.host = {.hostname = "here", .boot_id = "here"};
    setup.context.arena = arena_ = *Arena::Make(std::uint64_t{4} << 20);
    setup.planner.native = native;
    setup.options.tell_draws = native;
    if (native) {
      setup.context.plan.leaves = {{.rows = 100}};
      setup.context.plan.rng = setup.planner.rng = RngMode::kTorch;
      setup.planner.dims = std::make_shared<SizeTable>(100);
      setup.planner.draw = [](const auto&...) { return Status::Ok(); };
    }
    setup.without_workers = {.then = no_workers,
                             .trainer_can = native,
                             .timeout = worker_timeout,
                             .patience = std::chrono::milliseconds(50)};
    core_ = std::make_shared<SessionPump>(reactor_, std::move(setup), shared_);
    EXPECT_TRUE(reactor_->Start().ok());
    RunOn(*reactor_, [&] {
      core_->Start();
      if (leased) core_->SetLeases({TheWorker()});
      EXPECT_TRUE(core_->Begin({}).ok());
    });
  }
  ~SessionPumpTest() override {
    RunOn(*reactor_, [this] { core_->Shutdown(); });
    reactor_->Stop();
  }
  static wire::WorkerInfo TheWorker() {
    wire::WorkerInfo worker;
    worker.worker = WorkerId(1);
    worker.host = {.hostname = "elsewhere", .boot_id = "elsewhere"};
    worker.endpoints = {"inproc://worker"};
    return worker;
  }
  void Answer(const std::string& peer, const wire::BatchRequest& request, Status status) {
    wire::BatchDone done;
    done.pickle = pickle_;
    done.session = request.session;
    done.iteration = request.iteration;
    done.batch = request.batch;
    done.attempt = request.attempt;
    done.status = std::move(status);
    done.cost = cost_;
    done.tiers = tiers_;
    EXPECT_TRUE(worker_->Send(peer, done).ok());
  }
  // Until it was attached a second time it swallows what it is asked; the third request tells it
  // that it has lost the session.
  void OnRequest(const std::string& peer, const wire::BatchRequest& request) {
    lane_set_ = request.lane_set;
    skip_ = request.skip;
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
  std::shared_ptr<BatchMailbox> shared_ = std::make_shared<BatchMailbox>(true);
  std::shared_ptr<SessionPump> core_;
  int attached_ = 0, swallowed_ = 0;
  std::uint64_t lane_set_ = 0;  // of the last request
  std::vector<std::int32_t> skip_;
  wire::BatchCost cost_;
  Bytes pickle_;
  std::vector<wire::TierHits> tiers_;
};

TEST_F(SessionPumpTest, SlotsOfASessionThatTheWorkerForgotAreFree) {
  RunOn(*reactor_, [this] {
    for (std::int64_t key = 0; key < 3; ++key) core_->Submit({key}, -1, reactor_->clock().Now());
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

TEST_F(SessionPumpTest, EachIterationHasItsOwnLanesUnlessTheyGoOn) {
  const auto set_of_next = [this] {
    RunOn(*reactor_, [this] { core_->Submit({1}, -1, reactor_->clock().Now()); });
    const auto taken = shared_->Next(seconds(20), reactor_->clock());
    EXPECT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
    std::uint64_t set = 0;
    RunOn(*reactor_, [&] { set = lane_set_; });
    return set;
  };
  const auto begin = [this](bool continue_lanes) {
    RunOn(*reactor_, [&] { EXPECT_TRUE(core_->Begin({.continue_lanes = continue_lanes}).ok()); });
  };
  RunOn(*reactor_, [this] { swallowed_ = 2; });  // it is attached again by the first request
  const std::uint64_t first = set_of_next();
  EXPECT_EQ(set_of_next(), first);
  begin(true);
  EXPECT_EQ(set_of_next(), first);
  begin(false);
  EXPECT_GT(set_of_next(), first);
}

TEST_F(SessionPumpTest, WaitsAndCostsReachTheCoordinator) {
  cost_ = {.compute_ns = 8'000,
           .queue_ns = 100,
           .decoded_hits = 1,
           .hit_cpu_ns = 70,
           .miss_cpu_ns = 900,
           .source_bytes = 4096,
           .python_ns = 5'000,
           .wall_ns = std::uint64_t(-1)};  // what a peer says is bounded
  tiers_ = {{.tier = "memory", .decoded = 1, .cpu_ns = 70}};
  shared_->EnterNext(reactor_->clock());
  EXPECT_FALSE(shared_->Next(std::chrono::milliseconds(0), reactor_->clock()).ok());
  RunOn(*reactor_, [this] {
    swallowed_ = 2;
    pickle_ = PickleOf(0);
    core_->Submit({4, 5, 6}, -1, reactor_->clock().Now());
  });
  const auto taken = shared_->Next(seconds(20), reactor_->clock());
  ASSERT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
  shared_->AddIdle(std::chrono::hours(1));
  shared_->LeaveNext(reactor_->clock());
  wire::SessionLoad load;
  RunOn(*reactor_, [&] { load = core_->Load(); });
  EXPECT_GT(load.stall_ns, 0U);
  EXPECT_EQ(load.stall_ns, load.wait_sampler_ns + load.wait_source_ns + load.wait_compute_ns +
                               load.wait_python_ns + load.wait_queue_ns + load.wait_network_ns +
                               load.wait_copy_ns);
  EXPECT_GT(load.wait_python_ns, 0U);
  EXPECT_GT(load.wait_queue_ns, 0U) << "it was asked twice";
  EXPECT_EQ(load.wait_network_ns, 0U) << "the worker says that it was at work all the time";
  EXPECT_TRUE(load.idle_known);
  EXPECT_EQ(load.idle_ns, load.stall_ns) << "no more than all of it";
  EXPECT_EQ(load.hit_samples, 1U);
  EXPECT_EQ(load.miss_samples, 2U);
  EXPECT_EQ(load.hit_cpu_ns, 70U);
  EXPECT_EQ(load.miss_cpu_ns, 900U);
  EXPECT_EQ(load.source_bytes, 4096U);
  EXPECT_EQ(load.tiers, tiers_);
  const SessionStats stats = shared_->Stats(reactor_->clock());
  EXPECT_EQ(stats.compute_ns, 3'000U);
  EXPECT_EQ(stats.python_ns, 5'000U);
}

// Batches whose draws depend on the sizes of images.
class SizesTest : public SessionPumpTest {
 protected:
  SizesTest() : SessionPumpTest(seconds(10), 0, /*native=*/true, /*leased=*/false) {}
};

TEST_F(SizesTest, AWaitForAWorkerIsToldFromOneForSizes) {
  cost_ = {.compute_ns = std::uint64_t(-1), .wall_ns = std::uint64_t(-1)};  // nothing but work
  attached_ = 1;  // the worker answers as soon as it is attached
  shared_->EnterNext(reactor_->clock());
  EXPECT_FALSE(shared_->Next(std::chrono::milliseconds(0), reactor_->clock()).ok());
  const SteadyTime asked = reactor_->clock().Now();
  RunOn(*reactor_, [this] { core_->Submit({1}, -1, reactor_->clock().Now()); });
  const SteadyTime submitted = reactor_->clock().Now();
  while (reactor_->clock().Now() < submitted + std::chrono::milliseconds(20)) {
  }  // more than all the rest takes
  wire::SessionLoad load;
  SteadyTime leased;
  RunOn(*reactor_, [&] {
    load = core_->Load();
    leased = reactor_->clock().Now();
    core_->SetLeases({TheWorker()});
  });
  EXPECT_GE(Duration(load.wait_queue_ns), submitted - asked) << "told while it waits";
  auto taken = shared_->Next(seconds(20), reactor_->clock());
  EXPECT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
  const SessionStats first = shared_->Stats(reactor_->clock());
  EXPECT_GE(Duration(first.wait_queue_ns), leased - submitted);
  EXPECT_GT(first.wait_source_ns, 0U) << "sizes were asked for";
  const Batch& batch = taken->batch->batch;
  ASSERT_TRUE(batch.drawn);
  EXPECT_EQ(batch.keys, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(batch.drawn->sizes, (std::vector<std::array<std::int64_t, 2>>{{4, 4}}));
  EXPECT_EQ(batch.drawn->torch_state, ops::Generators().State()) << "nothing was drawn before it";

  // They are known now, and a worker is there: the batch is on its way before it is waited for.
  RunOn(*reactor_, [this] { core_->Submit({1}, -1, reactor_->clock().Now()); });
  taken = shared_->Next(seconds(20), reactor_->clock());
  EXPECT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
  EXPECT_EQ(shared_->Stats(reactor_->clock()).wait_source_ns, first.wait_source_ns);
}

// No worker is there, and the trainer can make samples.
class LocalTest : public SessionPumpTest {
 protected:
  LocalTest()
      : SessionPumpTest(seconds(10), 0, /*native=*/true, /*leased=*/false, NoWorkers::kLocal) {
    attached_ = 1;  // the worker answers as soon as it is attached
  }
  BatchMailbox::Taken Next() {
    auto taken = shared_->Next(seconds(20), reactor_->clock());
    EXPECT_TRUE(taken.ok()) << taken.status().ToString();
    return taken.ok() ? std::move(*taken) : BatchMailbox::Taken();
  }
};

TEST_F(LocalTest, TheTrainerMakesBatchesUntilAWorkerComes) {
  RunOn(*reactor_, [this] { core_->Submit({1, 2}, -1, reactor_->clock().Now()); });
  // Its size is not known, and so not how much it draws. The trainer makes it first.
  for (const int position : {0, 1}) {
    const auto needed = Next().sample;
    ASSERT_TRUE(needed);
    EXPECT_EQ(needed->batch, 0);
    EXPECT_EQ(needed->position, position);
    const Bytes state = needed->torch_state;
    RunOn(*reactor_, [&] { EXPECT_TRUE(core_->ResolveSample(0, position, state, false).ok()); });
  }
  const auto made = Next().batch;
  ASSERT_TRUE(made);
  ASSERT_EQ(made->batch.missing.size(), 2U);
  EXPECT_EQ(made->batch.missing[1].key, 2);

  // Until the worker has the plan, the trainer goes on.
  RunOn(*reactor_, [this] { core_->SetLeases({TheWorker()}); });
  std::int64_t batch = 0;
  for (std::size_t missing = 2; missing > 0;) {
    RunOn(*reactor_, [this] { core_->Submit({1, 2}, -1, reactor_->clock().Now()); });
    ++batch;
    auto taken = Next();
    while (taken.sample) {
      RunOn(*reactor_, [&] {
        (void)core_->ResolveSample(batch, taken.sample->position, taken.sample->torch_state, false);
      });
      taken = Next();
    }
    ASSERT_TRUE(taken.batch);
    EXPECT_EQ(taken.batch->batch.batch, batch);
    missing = taken.batch->batch.missing.size();
  }
}

// One of its samples has ended workers.
class HeldBackTest : public SessionPumpTest {
 protected:
  HeldBackTest() : SessionPumpTest(seconds(10), 0, /*native=*/true) {}
  BatchMailbox::Taken Next() {
    auto taken = shared_->Next(seconds(20), reactor_->clock());
    EXPECT_TRUE(taken.ok()) << taken.status().ToString();
    return taken.ok() ? std::move(*taken) : BatchMailbox::Taken();
  }
};

TEST_F(HeldBackTest, ASampleIsTheTrainersFromNowOn) {
  RunOn(*reactor_, [this] { core_->Submit({1, 2}, -1, reactor_->clock().Now()); });
  const auto swallowed = [this] {
    int count = 0;
    RunOn(*reactor_, [&] { count = swallowed_; });
    return count;
  };
  while (swallowed() == 0) {
  }
  // The worker has the batch: it may end by it, too.
  RunOn(*reactor_, [this] {
    core_->ReportBadSample({.key = 2, .cause = "it is large", .hold_back = true});
    attached_ = 2;  // it answers from now on
  });
  auto made = Next().batch;
  ASSERT_TRUE(made);
  EXPECT_EQ(made->batch.missing.size(), 2U);

  RunOn(*reactor_, [this] { core_->Submit({3, 2}, -1, reactor_->clock().Now()); });
  const auto needed = Next().sample;
  ASSERT_TRUE(needed);
  EXPECT_EQ(needed->key, 2);
  RunOn(*reactor_, [&] {
    EXPECT_TRUE(core_->ResolveSample(1, needed->position, needed->torch_state, false).ok());
  });
  made = Next().batch;
  ASSERT_TRUE(made);
  ASSERT_EQ(made->batch.missing.size(), 1U);
  EXPECT_EQ(made->batch.missing[0].key, 2);
  RunOn(*reactor_, [this] {
    EXPECT_EQ(skip_, std::vector<std::int32_t>{1});
    core_->ReportBadSample({.key = 5, .cause = "truncated", .left_out = true});
    EXPECT_EQ(core_->Load().bad_samples, 1U);
  });
}

// Its code takes twice as long to import as an unreachable worker is waited for.
class SlowWorkerTest : public SessionPumpTest {
 protected:
  SlowWorkerTest() : SessionPumpTest(seconds(2), 4) {}
};

TEST_F(SlowWorkerTest, AWorkerThatIsStillLoadingIsWaitedFor) {
  RunOn(*reactor_, [this] {
    swallowed_ = 2;  // the next request is answered
    core_->Submit({0}, -1, reactor_->clock().Now());
  });
  const auto taken = shared_->Next(seconds(20), reactor_->clock());
  ASSERT_TRUE(taken.ok() && taken->batch) << taken.status().ToString();
  RunOn(*reactor_, [this] { EXPECT_GE(pongs_, pongs_before_attached_); });
}

TEST_F(SlowWorkerTest, ADeadOneIsNot) {
  RunOn(*reactor_, [this] {
    dead_ = true;
    core_->Submit({0}, -1, reactor_->clock().Now());
  });
  const auto taken = shared_->Next(seconds(20), reactor_->clock());
  EXPECT_EQ(taken.status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace headrace::client
