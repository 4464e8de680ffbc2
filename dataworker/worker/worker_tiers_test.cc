// A worker whose cache has a slow tier: samples wait for it without a thread.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/cache/fake_slow_tier.h"
#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/worker/worker_test_base.h"

namespace headrace::dataworker {
namespace {

class WorkerTiersTest : public WorkerTest {
 protected:
  WorkerTiersTest() {
    registry_.Add({.name = "memory",
                   .summary = "memory",
                   .settings = {},
                   .make = [](std::uint64_t budget, const Settings&) {
                     return Result<std::unique_ptr<CacheTier>>(MakeMemoryCache(budget));
                   }});
    registry_.Add({.name = "slow",
                   .summary = "answers when told",
                   .settings = {},
                   .make = [this](std::uint64_t budget, const Settings&) {
                     auto made = std::make_unique<FakeSlowTier>(budget, 1);
                     slow_ = made.get();
                     return Result<std::unique_ptr<CacheTier>>(std::move(made));
                   }});
  }
  void Start(int threads, const std::string& first = "") {
    WorkerOptions options;
    options.threads = threads;
    if (!first.empty()) options.cache_tiers.push_back(first);
    options.cache_tiers.push_back("slow:size=4M");
    worker_ = std::make_unique<TestWorker>(options, Clock::Real(), registry_);
    client_ = std::make_unique<TestClient>(*worker_);
    attach_.cache_bytes = std::uint64_t{8} << 20;
    client_->Attach(attach_, blobs_, &arena_);
  }
  void AwaitOpen(std::size_t lookups) {
    while (slow_->open() < lookups) std::this_thread::yield();
  }
  void AnswerAll() {
    while (slow_->AnswerOne()) {
    }
  }
  wire::BatchDone Made(const wire::BatchRequest& request) {
    wire::BatchDone done = client_->Next<wire::BatchDone>();
    ExpectBatch(request, done, arena_.memory().subspan(4096));
    return done;
  }

  CacheRegistry registry_;
  FakeSlowTier* slow_ = nullptr;
  const TestArena arena_{kArenaBytes};
  std::unique_ptr<TestWorker> worker_;
  std::unique_ptr<TestClient> client_;
};

TEST_F(WorkerTiersTest, OneThreadWaitsForManySamplesOfASlowTierAndTheBitsAreTheSame) {
  Start(/*threads=*/1);
  wire::BatchRequest request = Request(AllKeys());
  client_->Send(request);
  EXPECT_EQ(Made(request).cost.misses, static_cast<unsigned>(kFiles));
  EXPECT_EQ(slow_->Stats().entries, static_cast<std::uint64_t>(kFiles));
  ASSERT_EQ(slow_->costs().size(), static_cast<std::size_t>(kFiles));
  for (const Duration cost : slow_->costs()) EXPECT_GT(cost, Duration()) << "read and decoded";
  request = Request(AllKeys());
  client_->Send(request);
  AwaitOpen(kFiles);  // all at the same time, of one thread
  AnswerAll();
  const wire::BatchDone done = Made(request);
  EXPECT_EQ(done.cost.decoded_hits, static_cast<unsigned>(kFiles));
  EXPECT_EQ(done.cost.misses, 0U);
  EXPECT_EQ(done.cost.source_bytes, 0U);
  ASSERT_EQ(done.tiers.size(), 1U);
  EXPECT_EQ(done.tiers[0].tier, "slow");
  EXPECT_EQ(done.tiers[0].decoded, static_cast<std::uint64_t>(kFiles));
  EXPECT_EQ(done.tiers[0].cpu_ns, done.cost.hit_cpu_ns);
}

TEST_F(WorkerTiersTest, WhatTheSlowTierHasLostIsMadeFromTheSource) {
  Start(/*threads=*/2);
  slow_->SetFaults({.full = 0.2, .corrupt = 0.5});
  wire::BatchRequest request = Request(AllKeys());
  client_->Send(request);
  Made(request);
  const std::uint64_t stored = slow_->Stats().entries;
  request = Request(AllKeys());
  client_->Send(request);
  AwaitOpen(stored);
  AnswerAll();
  const wire::BatchDone mixed = Made(request);
  EXPECT_EQ(mixed.cost.decoded_hits + mixed.cost.misses, static_cast<unsigned>(kFiles));
  EXPECT_GT(mixed.cost.misses, 0U);
  slow_->SetFaults({});
  request = Request(AllKeys());
  client_->Send(request);
  while (slow_->open() == 0) std::this_thread::yield();
  slow_->TakeAway();
  // More of the batch may ask, or be about to, before it sees that the tier is gone.
  std::jthread answers([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (!slow_->AnswerOne()) std::this_thread::yield();
    }
  });
  const wire::BatchDone gone = Made(request);
  EXPECT_EQ(gone.cost.misses + gone.cost.decoded_hits, static_cast<unsigned>(kFiles));
}

TEST_F(WorkerTiersTest, HitsAreCountedByTier) {
  Start(/*threads=*/1, "memory:size=64K");
  wire::BatchRequest request = Request(AllKeys());
  client_->Send(request);
  Made(request);
  const std::uint64_t below = slow_->Stats().entries;
  ASSERT_GT(below, 0U);
  ASSERT_LT(below, static_cast<std::uint64_t>(kFiles));
  request = Request(AllKeys());
  client_->Send(request);
  AwaitOpen(below);
  AnswerAll();
  const wire::BatchDone done = Made(request);
  ASSERT_EQ(done.tiers.size(), 2U);
  EXPECT_EQ(done.tiers[0].tier, "memory");
  EXPECT_EQ(done.tiers[0].decoded, kFiles - below);
  EXPECT_EQ(done.tiers[1].tier, "slow");
  EXPECT_EQ(done.tiers[1].decoded, below);
}

TEST_F(WorkerTiersTest, ACancelledBatchIsAnsweredWhenTheTierHasAnswered) {
  Start(/*threads=*/1);
  wire::BatchRequest request = Request(AllKeys());
  client_->Send(request);
  Made(request);
  client_->Send(Request(AllKeys()));
  AwaitOpen(kFiles);
  client_->Send(wire::CancelIterations{.session = attach_.session, .before = IterationId(2)});
  AnswerAll();
  const Status status = client_->Next<wire::BatchDone>().status;
  EXPECT_TRUE(status.ok() || status.code() == Code::kCancelled) << status.ToString();
}

TEST_F(WorkerTiersTest, AWorkerEndsWhileSamplesWait) {
  Start(/*threads=*/1);
  wire::BatchRequest request = Request(AllKeys());
  client_->Send(request);
  Made(request);
  client_->Send(Request(AllKeys()));
  AwaitOpen(kFiles);
  client_.reset();
  worker_.reset();
}

}  // namespace
}  // namespace headrace::dataworker
