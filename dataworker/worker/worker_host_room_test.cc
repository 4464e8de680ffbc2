// A worker whose host runs out of memory.
#include <atomic>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "dataworker/worker/worker_test_base.h"

namespace headrace::dataworker {
namespace {

TEST_F(WorkerTest, ItsCacheGivesWayWhenTheHostNeedsItsMemoryAndComesBack) {
  constexpr std::uint64_t kPlenty = std::uint64_t{1} << 62;
  std::atomic<std::uint64_t> available = kPlenty;
  WorkerOptions options;
  options.cache_bytes = std::uint64_t{8} << 20;
  FakeClock clock;
  WorkerSurroundings surroundings = WorkerSurroundings::OfThisProcess();
  surroundings.available_memory = [&available] { return available.load(); };
  TestWorker worker(options, clock, BuiltinCacheTiers(), BuiltinSources(), surroundings);
  const TestArena arena(kArenaBytes);
  attach_.cache_bytes = options.cache_bytes;
  TestClient client(worker);
  client.Attach(attach_, blobs_, &arena);
  const auto make = [&] {
    const wire::BatchRequest request = Request(AllKeys());
    client.Send(request);
    ExpectBatch(request, client.Next<wire::BatchDone>(), arena.memory().subspan(4096));
  };
  const auto a_second_later = [&] {
    OnReactorThread(worker.reactor(), [&] { clock.Advance(std::chrono::seconds(1)); });
    OnReactorThread(worker.reactor(), [] {});
  };
  constexpr auto kAll = static_cast<std::uint64_t>(kFiles);
  make();
  a_second_later();
  EXPECT_EQ(worker.cache().entries, kAll) << "there is enough for all";
  available = 0;
  a_second_later();
  EXPECT_EQ(worker.cache().entries, 0U);
  make();
  EXPECT_EQ(worker.cache().entries, 0U) << "the host has the room";
  available = kPlenty;
  a_second_later();
  make();
  EXPECT_EQ(worker.cache().entries, kAll);
}

}  // namespace
}  // namespace headrace::dataworker
