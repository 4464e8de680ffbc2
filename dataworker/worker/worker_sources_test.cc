// A worker whose source is slow: samples wait for it without a thread.
#include <atomic>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/source/core/fake_slow_source.h"
#include "dataworker/worker/worker_test_base.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class WorkerSourcesTest : public WorkerTest {
 protected:
  void SetUp() override {
    WorkerTest::SetUp();
    std::vector<FakeStore::Object> objects;
    for (std::int64_t i = 0; i < kFiles; ++i) {
      std::ifstream file(directory_.path() + "/" + std::to_string(i) + ".png", std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      bytes_ += text.size();
      most_bytes_ = std::max<std::uint64_t>(most_bytes_, text.size());
      objects.push_back({CopyBytes(AsBytes(text)), i * 7});
    }
    seed_ = std::random_device()();
    std::cout << "seed " << seed_ << "\n";
    store_ = std::make_shared<FakeStore>(std::move(objects), seed_);
    registry_.Add("slow", [this](const SourceLeaf&, const SourceRegistry::Environment& env) {
      return Result<std::unique_ptr<Source>>(store_->Open(env.read_header));
    });
    attach_.plan.leaves = {{.source = "slow", .rows = kFiles, .table = {}, .arrays = {}}};
    options_.threads = 1;
  }
  void Start() {
    worker_ = std::make_unique<TestWorker>(options_, Clock::Real(), BuiltinCacheTiers(), registry_);
    client_ = std::make_unique<TestClient>(*worker_);
    client_->Attach(attach_, blobs_, &arena_);
  }
  void AwaitOpen(std::size_t rows) {
    while (store_->open() < rows) std::this_thread::yield();
  }
  void AwaitNoneOpen() {
    while (store_->open() > 0) std::this_thread::yield();
  }
  void AnswerAll() {
    while (store_->AnswerOne()) {
    }
  }
  // Answers what is asked until the batch is made.
  wire::BatchDone Await() {
    std::atomic<bool> over = false;
    std::thread answers([&] {
      while (!over) {
        if (!store_->AnswerOne()) std::this_thread::yield();
      }
    });
    wire::BatchDone done = client_->Next<wire::BatchDone>();
    over = true;
    answers.join();
    return done;
  }
  wire::BatchDone Make(const wire::BatchRequest& request) {
    client_->Send(request);
    wire::BatchDone done = Await();
    ExpectBatch(request, done, arena_.memory().subspan(4096));
    return done;
  }

  unsigned seed_ = 0;
  std::uint64_t bytes_ = 0, most_bytes_ = 0;
  std::shared_ptr<FakeStore> store_;
  SourceRegistry registry_ = BuiltinSources();
  WorkerOptions options_;
  const TestArena arena_{kArenaBytes};
  std::unique_ptr<TestWorker> worker_;
  std::unique_ptr<TestClient> client_;
};

TEST_F(WorkerSourcesTest, OneThreadWaitsForManyRowsOfSeveralBatchesAndTheBitsAreTheSame) {
  Start();
  wire::BatchRequest first = Request(AllKeys()), second = Request(AllKeys());
  second.slot_offset += std::uint64_t{1} << 20;
  client_->Send(first);
  client_->Send(second);
  AwaitOpen(2 * kFiles);  // all at the same time, of one thread
  const auto requests = store_->TakeRequests();
  AnswerAll();
  for (int i = 0; i < 2; ++i) {
    const wire::BatchDone done = client_->Next<wire::BatchDone>();
    const bool one = done.batch == first.batch;
    ExpectBatch(one ? first : second, done,
                arena_.memory().subspan(4096 + (one ? 0 : std::size_t{1} << 20)));
    EXPECT_EQ(done.cost.misses, static_cast<unsigned>(kFiles));
    EXPECT_EQ(done.cost.source_bytes, bytes_);
    EXPECT_GT(done.cost.source_ns, 0U);
  }
  EXPECT_THAT(requests, SizeIs(2)) << "neighbours, though these keys go down";
}

TEST_F(WorkerSourcesTest, NeighboursAreOneRequest) {
  Start();
  client_->Send(Request({9, 3, 2, 10, 4}));
  AwaitOpen(5);
  const auto requests = store_->TakeRequests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].rows, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(requests[1].rows, (std::vector<std::int64_t>{9, 10}));
  EXPECT_TRUE(Await().status.ok());
}

TEST_F(WorkerSourcesTest, BytesAreBounded) {
  options_.source_ahead_bytes = 3 * most_bytes_;
  Start();
  Make(Request({0}));  // how large they are
  const wire::BatchRequest request = Request(AllKeys());
  client_->Send(request);
  AwaitOpen(2);
  EXPECT_THAT(client_->UntilPong<wire::BatchDone>(), IsEmpty());
  EXPECT_LE(store_->open(), 4U);
  EXPECT_GE(store_->open(), 2U);
  ExpectBatch(request, Await(), arena_.memory().subspan(4096));
  EXPECT_LE(store_->most_open(), 5U);
}

TEST_F(WorkerSourcesTest, ARowThatFailsIsOneSample) {
  Start();
  store_->SetFaults(0.5);
  const wire::BatchRequest request = Request(AllKeys());
  client_->Send(request);
  const wire::BatchDone done = Await();
  std::vector<std::int32_t> absent;
  for (const auto& failure : done.failures) {
    absent.push_back(failure.position);
    EXPECT_EQ(failure.code, Code::kUnavailable);
    EXPECT_THAT(failure.message, ::testing::HasSubstr("503"));
  }
  ExpectBatch(request, done, arena_.memory().subspan(4096), absent);
  store_->SetFaults(0);
  Make(Request(AllKeys()));
}

TEST_F(WorkerSourcesTest, TheCacheAsksForIdentitiesTogetherAndReadsOnlyWhatItLacks) {
  options_.cache_bytes = std::uint64_t{8} << 20;
  attach_.cache_bytes = options_.cache_bytes;
  Start();
  EXPECT_EQ(Make(Request({0, 1, 2, 3})).cost.misses, 4U);
  store_->TakeRequests();
  const wire::BatchDone done = Make(Request({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(done.cost.decoded_hits, 4U);
  EXPECT_EQ(done.cost.misses, 2U);
  const auto requests = store_->TakeRequests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].ask, Ask::kIdentity);
  EXPECT_THAT(requests[0].rows, SizeIs(6));
  EXPECT_EQ(requests[1].ask, Ask::kBytes);
  EXPECT_EQ(requests[1].rows, (std::vector<std::int64_t>{4, 5}));
}

TEST_F(WorkerSourcesTest, AnIdentityIsNotAskedForAgainWhileItIsValid) {
  options_.cache_bytes = std::uint64_t{8} << 20;
  attach_.cache_bytes = options_.cache_bytes;
  store_->SetTimes(std::chrono::hours(1), {});
  Start();
  Make(Request(AllKeys()));
  store_->TakeRequests();
  const wire::BatchRequest request = Request(AllKeys());
  client_->Send(request);
  const wire::BatchDone done = client_->Next<wire::BatchDone>();  // nobody answers
  ExpectBatch(request, done, arena_.memory().subspan(4096));
  EXPECT_EQ(done.cost.decoded_hits, static_cast<unsigned>(kFiles));
  EXPECT_THAT(store_->TakeRequests(), IsEmpty());
}

TEST_F(WorkerSourcesTest, WithoutAValidityAChangedObjectIsNeverServedFromTheCache) {
  options_.cache_bytes = std::uint64_t{8} << 20;
  attach_.cache_bytes = options_.cache_bytes;
  Start();
  Make(Request({0, 1}));
  const std::string png = TinyPng::Make(40, 40, 99);
  store_->Change(1, CopyBytes(AsBytes(png)));
  directory_.Write("1.png", png);  // what the test expects
  const wire::BatchDone done = Make(Request({0, 1}));
  EXPECT_EQ(done.cost.decoded_hits, 1U);
  EXPECT_EQ(done.cost.misses, 1U);
}

TEST_F(WorkerSourcesTest, SizesAreAskedForTogetherAndHoldNoThread) {
  Start();
  wire::Describe describe;
  describe.request = 3;
  describe.session = attach_.session;
  describe.keys = {5, 6, 7, 8, 999};
  client_->Send(describe);
  AwaitOpen(4);
  const auto requests = store_->TakeRequests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].ask, Ask::kSpec);
  // The thread is free for others meanwhile: a batch goes on.
  client_->Send(Request({0}));
  AwaitOpen(5);
  AnswerAll();
  const auto described = client_->Next<wire::Described>();
  ASSERT_THAT(described.specs, SizeIs(5));
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(described.specs[i]);
    EXPECT_EQ(described.specs[i]->dims[0], 35 + static_cast<std::int64_t>(i));
  }
  EXPECT_FALSE(described.specs[4]);
}

TEST_F(WorkerSourcesTest, TheShapeOfABatchIsFoundWithoutAThread) {
  attach_.plan.chain = {MakeNode("decode", {{"mode", std::string("RGB")}}),
                        MakeNode("to_tensor", {})};
  attach_.split.worker_nodes = 2;
  Start();
  store_->SetFaults(0.3);
  for (int i = 0; i < 20; ++i) {
    client_->Send(Request({4, 4, 4}));
    const wire::BatchDone done = Await();
    ASSERT_TRUE(done.status.ok()) << done.status.ToString();
    if (done.failures.size() == 3) continue;
    EXPECT_EQ(done.fields[0].shape, (std::vector<std::int64_t>{3, 3, 34, 46}));
  }
}

TEST_F(WorkerSourcesTest, ACancelledBatchIsAnsweredAndWhatHasNotBegunIsNeverAsked) {
  options_.source_requests = 3;
  Start();
  client_->Send(Request(AllKeys()));
  AwaitOpen(3);
  client_->Send(wire::CancelIterations{.session = attach_.session, .before = IterationId(2)});
  EXPECT_THAT(client_->UntilPong<wire::BatchDone>(), IsEmpty());
  AnswerAll();
  EXPECT_EQ(client_->Next<wire::BatchDone>().status.code(), Code::kCancelled);
  std::size_t rows = 0;
  for (const auto& request : store_->TakeRequests()) rows += request.rows.size();
  EXPECT_EQ(rows, 3U);
  wire::BatchRequest next = Request(AllKeys());
  next.iteration = IterationId(2);
  Make(next);
}

// The trainer gets its memory back: an open row of a source that is silent does not keep it.
TEST_F(WorkerSourcesTest, ADetachWhileRowsAreOpenEndsThemAndOthersGoOn) {
  Start();
  TestClient other(*worker_);
  const TestArena memory(kArenaBytes);
  wire::Attach attach = attach_;
  attach.session = SessionId(78);
  attach.job = JobId(6);
  other.Attach(attach, blobs_, &memory);
  client_->Send(Request(AllKeys()));
  AwaitOpen(kFiles);
  client_->Send(wire::Detach{attach_.session});
  AwaitNoneOpen();
  EXPECT_THAT(client_->UntilPong<wire::BatchDone>(), IsEmpty());
  wire::BatchRequest request = Request(AllKeys());
  request.session = attach.session;
  other.Send(request);
  AwaitOpen(kFiles);
  AnswerAll();
  ExpectBatch(request, other.Next<wire::BatchDone>(), memory.memory().subspan(4096));
}

TEST_F(WorkerSourcesTest, AWorkerEndsWhileRowsAreOpenAndOthersWait) {
  options_.source_requests = 5;
  Start();
  client_->Send(Request(AllKeys()));
  AwaitOpen(5);
  client_.reset();
  worker_.reset();
  EXPECT_EQ(store_->open(), 0U);
}

TEST_F(WorkerSourcesTest, TheSourceLimitHoldsForWhatIsReadAhead) {
  options_.source_bytes_per_second = 2 * bytes_;
  Start();
  const SteadyTime begin = Clock::Real().Now();
  for (int i = 0; i < 3; ++i) Make(Request(AllKeys()));
  // Twice the data would take one second; a burst of a tenth and the first row come for free.
  EXPECT_GE(Clock::Real().Now() - begin, std::chrono::milliseconds(1000));
}

// Batches of several jobs, with faults, cancels and detaches at any time: every batch is answered
// once, as it should be, and nothing stays open.
TEST_F(WorkerSourcesTest, NoBatchIsLostOrMadeTwice) {
  options_.threads = 2;
  options_.source_requests = 7;
  options_.source_ahead_bytes = 5 * most_bytes_;
  options_.cache_bytes = std::uint64_t{64} << 10;
  attach_.cache_bytes = options_.cache_bytes;
  Start();
  std::mt19937 random(seed_);
  store_->SetFaults(0.05);
  std::atomic<bool> over = false;
  std::vector<std::thread> answers;
  for (int i = 0; i < 2; ++i) {
    answers.emplace_back([&] {
      while (!over) {
        if (!store_->AnswerOne()) std::this_thread::yield();
      }
    });
  }
  constexpr int kJobs = 3, kRounds = 12, kBatches = 6;
  std::vector<std::unique_ptr<TestClient>> clients;
  std::vector<wire::Attach> attached;
  std::vector<std::unique_ptr<TestArena>> arenas;
  for (int job = 0; job < kJobs; ++job) {
    clients.push_back(std::make_unique<TestClient>(*worker_));
    arenas.push_back(std::make_unique<TestArena>(kArenaBytes));
    attached.push_back(attach_);
    attached.back().job = JobId(10 + job);
    attached.back().session = SessionId(100 + job);
    clients.back()->Attach(attached.back(), blobs_, arenas.back().get());
  }
  for (int round = 1; round <= kRounds; ++round) {
    std::vector<std::map<std::int64_t, wire::BatchRequest>> sent(kJobs);
    std::vector<bool> cancelled(kJobs);
    for (int batch = 0; batch < kBatches; ++batch) {
      for (std::size_t job = 0; job < kJobs; ++job) {
        std::vector<std::int64_t> keys(random() % 12 + 1);
        for (auto& key : keys) key = static_cast<std::int64_t>(random() % kFiles);
        wire::BatchRequest request = Request(std::move(keys));
        request.session = attached[job].session;
        request.iteration = IterationId(round);
        request.slot_offset += static_cast<std::uint64_t>(batch) << 20;
        clients[job]->Send(request);
        sent[job][request.batch.value] = request;
      }
    }
    const std::size_t which = random() % kJobs;
    if (random() % 3 == 0) {
      clients[which]->Send(wire::CancelIterations{.session = attached[which].session,
                                                  .before = IterationId(round + 1)});
      cancelled[which] = true;
    }
    if (random() % 4 == 0) {
      clients[which]->Send(wire::Detach{attached[which].session});
      clients[which] = std::make_unique<TestClient>(*worker_);
      attached[which].session = SessionId(1000 + round);
      clients[which]->Attach(attached[which], blobs_, arenas[which].get());
      sent[which].clear();
    }
    for (std::size_t job = 0; job < kJobs; ++job) {
      while (!sent[job].empty()) {
        const wire::BatchDone done = clients[job]->Next<wire::BatchDone>();
        const auto request = sent[job].find(done.batch.value);
        ASSERT_NE(request, sent[job].end()) << "answered twice: " << done.batch.value;
        if (!done.status.ok()) {
          EXPECT_TRUE(cancelled[job] && done.status.code() == Code::kCancelled)
              << done.status.ToString();
        } else {
          std::vector<std::int32_t> absent;
          for (const auto& failure : done.failures) absent.push_back(failure.position);
          ExpectBatch(request->second, done,
                      arenas[job]->memory().subspan(request->second.slot_offset), absent);
        }
        sent[job].erase(request);
      }
      EXPECT_THAT(clients[job]->UntilPong<wire::BatchDone>(), IsEmpty());
    }
  }
  over = true;
  for (std::thread& thread : answers) thread.join();
  EXPECT_EQ(store_->open(), 0U);
  EXPECT_EQ(worker_->open_rows(), 0U);
}

}  // namespace
}  // namespace headrace::dataworker
