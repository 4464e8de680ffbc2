// A worker that is told in which form to keep samples, over a source that is slow.
#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/source/core/fake_slow_source.h"
#include "dataworker/source/ranges/zip_fixture.h"
#include "dataworker/worker/test_coordinator.h"

namespace headrace::dataworker {
namespace {

class WorkerFormsTest : public CoordinatedWorkerTest {
 protected:
  static constexpr std::uint64_t kRoom = std::uint64_t{8} << 20;

  void SetUp() override {
    WorkerTest::SetUp();
    std::vector<FakeStore::Object> objects;
    for (std::int64_t i = 0; i < kFiles; ++i) {
      std::ifstream file(directory_.path() + "/" + std::to_string(i) + ".png", std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      encoded_bytes_ += text.size();
      if (zipped()) {
        const ZippedSample packed = Zipped(text, i % 2 == 0);
        objects.push_back({CopyBytes(AsBytes(packed.bytes)), i * 7, 0, packed.member});
      } else {
        objects.push_back({CopyBytes(AsBytes(text)), i * 7});
      }
    }
    store_ = std::make_shared<FakeStore>(std::move(objects), 1);
    registry_.Add("slow", [this](const SourceLeaf&, const SourceRegistry::Environment& env) {
      return Result<std::unique_ptr<Source>>(store_->Open(env.read_header));
    });
    attach_.plan.leaves = {{.source = "slow", .rows = kFiles, .table = {}, .arrays = {}}};
    attach_.cache_bytes = kRoom;
    WorkerOptions options;
    options.cache_bytes = kRoom;
    Begin(options, registry_);
    client_ = std::make_unique<TestClient>(*worker_);
    client_->Attach(attach_, blobs_, &arena_);
  }
  void TearDown() override {
    client_.reset();
    CoordinatedWorkerTest::TearDown();
  }
  void Grant(std::uint64_t cache_bytes, bool encoded, std::int32_t nodes = 0) {
    wire::WorkerDirective directive;
    directive.jobs = {attach_.job};
    directive.grants = {{.job = attach_.job,
                         .millicores = 1000,
                         .cache_bytes = cache_bytes,
                         .cache_encoded = encoded,
                         .cache_nodes = nodes}};
    coordinator_->Say(directive);
    Advance(std::chrono::seconds(1));
    coordinator_->Next();
    worker_->AwaitDirectives(coordinator_->sent());
  }
  [[nodiscard]] virtual bool zipped() const { return false; }
  // Makes one epoch, whose bits are the same whatever is cached.
  wire::BatchCost Epoch() {
    const wire::BatchRequest request = Request(AllKeys());
    client_->Send(request);
    std::atomic<bool> over = false;
    std::thread answers([&] {
      while (!over) {
        if (!store_->AnswerOne()) std::this_thread::yield();
      }
    });
    const wire::BatchDone done = client_->Next<wire::BatchDone>();
    over = true;
    answers.join();
    ExpectBatch(request, done, arena_.memory().subspan(4096));
    return done.cost;
  }

  std::uint64_t encoded_bytes_ = 0;
  std::shared_ptr<FakeStore> store_;
  SourceRegistry registry_ = BuiltinSources();
  const TestArena arena_{kArenaBytes};
  std::unique_ptr<TestClient> client_;
};

TEST_F(WorkerFormsTest, KeepsPixelsUntilItIsToldToKeepBytes) {
  constexpr auto kAll = static_cast<unsigned>(kFiles);
  Grant(kRoom, false);
  Epoch();
  const wire::BatchCost pixels = Epoch();
  EXPECT_EQ(pixels.decoded_hits, kAll);
  EXPECT_GT(worker_->cache().bytes, encoded_bytes_);

  // As the coordinator does: what is there goes first.
  Grant(0, true);
  Grant(kRoom, true);
  EXPECT_EQ(worker_->cache().entries, 0U);
  const wire::BatchCost first = Epoch();
  EXPECT_EQ(first.misses, kAll);
  const wire::BatchCost bytes = Epoch();
  EXPECT_EQ(bytes.encoded_hits, kAll);
  EXPECT_EQ(bytes.decoded_hits, 0U);
  EXPECT_EQ(bytes.source_bytes, 0U) << "nothing is read at the source";
  EXPECT_EQ(worker_->cache().entries, static_cast<std::uint64_t>(kFiles));

  Grant(0, false);
  Grant(kRoom, false);
  Epoch();
  EXPECT_EQ(Epoch().decoded_hits, kAll);
}

class WorkerZippedFormsTest : public WorkerFormsTest {
 protected:
  [[nodiscard]] bool zipped() const override { return true; }
};

TEST_F(WorkerZippedFormsTest, WhatIsKeptOfAZipIsUnpacked) {
  constexpr auto kAll = static_cast<unsigned>(kFiles);
  Grant(kRoom, true);
  EXPECT_EQ(Epoch().misses, kAll);
  EXPECT_EQ(Epoch().encoded_hits, kAll) << "and the bits are the same";
  Grant(0, false);
  Grant(kRoom, false);
  EXPECT_EQ(Epoch().misses, kAll);
  EXPECT_EQ(Epoch().decoded_hits, kAll);
}

}  // namespace
}  // namespace headrace::dataworker
