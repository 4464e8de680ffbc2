// A whole worker that is told what to fill, to keep and to drop.
#include <memory>
#include <string>
#include <vector>

#include "dataworker/worker/test_coordinator.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kQuota = std::uint64_t{4} << 20;

class CacheOrdersTest : public CoordinatedWorkerTest {
 protected:
  void SetUp() override {
    WorkerTest::SetUp();
    WorkerOptions options;
    options.cache_bytes = std::uint64_t{8} << 20;
    Begin(options);
    attach_.cache_bytes = wire::kNoCacheBound;
    directive_.jobs = {attach_.job};
    directive_.grants = {{.job = attach_.job, .millicores = 1000, .cache_bytes = kQuota}};
  }
  // Has the worker follow the directive; returns its next heartbeat.
  wire::WorkerHeartbeat Say() {
    coordinator_->Say(directive_);
    Beat();
    return Beat();
  }
  wire::WorkerHeartbeat Beat() {
    Advance(seconds(1));
    wire::WorkerHeartbeat beat = coordinator_->Next();
    worker_->AwaitDirectives(coordinator_->sent());
    return beat;
  }
  void Fill(std::uint64_t bytes_per_second, std::uint32_t part = 0, std::uint32_t parts = 1) {
    directive_.fills = {
        {.job = attach_.job, .bytes_per_second = bytes_per_second, .part = part, .parts = parts}};
  }
  // Waits until so many entries are there; time goes on meanwhile.
  void AwaitEntries(std::uint64_t entries) {
    for (int i = 0; i < 20'000 && worker_->cache().entries != entries; ++i) {
      Advance(milliseconds(1));
      std::this_thread::yield();
    }
    EXPECT_EQ(worker_->cache().entries, entries);
  }

  wire::WorkerDirective directive_;
};

TEST_F(CacheOrdersTest, NothingIsFilledWithoutAnOrder) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  Say();
  for (int i = 0; i < 200; ++i) Advance(milliseconds(10));
  EXPECT_EQ(worker_->cache().entries, 0U);
}

TEST_F(CacheOrdersTest, AnIdleWorkerFillsWhatNobodyHasAskedFor) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  Fill(wire::FillOrder::kNoBound);
  Say();
  AwaitEntries(kFiles);
  // The first epoch then finds all of it, with the same bits.
  const wire::BatchRequest request = Request(AllKeys());
  client.Send(request);
  const auto done = client.Next<wire::BatchDone>();
  ASSERT_TRUE(done.status.ok());
  EXPECT_EQ(done.cost.decoded_hits, static_cast<unsigned>(kFiles));
}

TEST_F(CacheOrdersTest, EachWorkerFillsItsPart) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  Fill(wire::FillOrder::kNoBound, 1, 4);
  Say();
  AwaitEntries(kFiles / 4);
  client.Send(Request({1, 5, 9, 0, 2}));
  const auto done = client.Next<wire::BatchDone>();
  EXPECT_EQ(done.cost.decoded_hits, 3U);
  // The others have left.
  Fill(wire::FillOrder::kNoBound, 0, 1);
  Say();
  AwaitEntries(kFiles);
}

TEST_F(CacheOrdersTest, AFillKeepsToItsBandwidth) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  Fill(1);  // a byte a second: what has begun when the first one is counted, and no more
  Say();
  for (int i = 0; i < 300; ++i) {
    Advance(milliseconds(20));
    std::this_thread::yield();
  }
  const std::uint64_t begun = worker_->cache().entries;
  EXPECT_LE(begun, 2U);  // two threads
  Fill(1'000'000);
  Say();
  AwaitEntries(kFiles);
}

// Whoever it is that waits, and whatever for.
TEST_F(CacheOrdersTest, NothingIsFilledWhileAnythingWaits) {
  wire::Attach other = attach_;
  other.session = SessionId(78);
  other.job = JobId(6);
  TestClient client(*worker_), second(*worker_);
  client.Attach(attach_, blobs_);
  second.Attach(other, blobs_);
  directive_.jobs.push_back(other.job);
  directive_.grants[0].source_bytes_per_second = 1000;  // a file has more than that
  directive_.grants[0].cache_bytes = 0;
  directive_.grants.push_back({.job = other.job, .millicores = 1000, .cache_bytes = kQuota});
  Say();
  client.Send(Request(AllKeys()));
  client.UntilPong<wire::BatchDone>();  // it has been read; a thread takes it in
  while (worker_->waiting_rows() == 0) std::this_thread::yield();
  directive_.fills = {{.job = other.job, .bytes_per_second = wire::FillOrder::kNoBound}};
  coordinator_->Say(directive_);
  Beat();
  for (int i = 0; i < 50; ++i) {  // the first job's limit lets no second file be read meanwhile
    Advance(milliseconds(20));
    std::this_thread::yield();
  }
  EXPECT_EQ(worker_->cache().entries, 0U);
  directive_.grants[0].source_bytes_per_second = 0;
  Say();
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  AwaitEntries(kFiles);
}

TEST_F(CacheOrdersTest, ADropEmptiesTheCacheAndIsConfirmed) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  Say();
  client.Send(Request(AllKeys()));
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  EXPECT_EQ(worker_->cache().entries, static_cast<std::uint64_t>(kFiles));
  directive_.drops = {{.number = 7, .jobs = {attach_.job}}};
  EXPECT_EQ(Say().dropped, 7U);
  EXPECT_EQ(worker_->cache().entries, 0U);
  EXPECT_EQ(worker_->cache().bytes, 0U);
  // The same order again takes nothing that came after it.
  client.Send(Request(AllKeys()));
  ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
  Beat();
  EXPECT_EQ(worker_->cache().entries, static_cast<std::uint64_t>(kFiles));
  directive_.drops = {{.number = 8, .jobs = {JobId(99)}}};  // another one's
  EXPECT_EQ(Say().dropped, 8U);
  EXPECT_EQ(worker_->cache().entries, static_cast<std::uint64_t>(kFiles));
}

TEST_F(CacheOrdersTest, AFillBeginsAgainAfterADrop) {
  TestClient client(*worker_);
  client.Attach(attach_, blobs_);
  Fill(wire::FillOrder::kNoBound);
  Say();
  AwaitEntries(kFiles);
  directive_.drops = {{.number = 1, .jobs = {attach_.job}}};
  Say();
  AwaitEntries(kFiles);
}

TEST_F(CacheOrdersTest, WhatIsKeptIsHeldToItsBoundAfterItsJobAndBetweenItsLoaders) {
  for (const bool idle : {false, true}) {
    SCOPED_TRACE(idle);
    attach_.session = SessionId(attach_.session.value + 1);
    TestClient client(*worker_);
    client.Attach(attach_, blobs_);
    directive_.jobs = {attach_.job};
    directive_.grants = {{.job = attach_.job, .millicores = 1000, .cache_bytes = kQuota}};
    directive_.kept = {{.job = attach_.job, .bytes = 1 << 20}};
    Say();
    wire::BatchRequest request = Request(AllKeys());
    request.session = attach_.session;
    client.Send(request);
    ASSERT_TRUE(client.Next<wire::BatchDone>().status.ok());
    client.Send(wire::Detach{attach_.session});
    client.UntilPong<wire::BatchDone>();
    if (idle) {
      directive_.grants = {{.job = attach_.job, .millicores = 1000, .idle = true}};
    } else {
      directive_.jobs.clear();
      directive_.grants.clear();
    }
    Say();
    EXPECT_EQ(worker_->cache().entries, static_cast<std::uint64_t>(kFiles));
    directive_.kept[0].bytes = 0;
    Say();
    EXPECT_EQ(worker_->cache().entries, 0U);
  }
}

}  // namespace
}  // namespace headrace::dataworker
