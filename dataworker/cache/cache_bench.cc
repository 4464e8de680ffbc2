// Measures what the cache costs for each sample that asks it: a hit, and a miss that finds no room.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/cache_registry.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kEntries = 10'000;

SampleStore& Filled() {
  static const std::unique_ptr<SampleStore> cache = [] {
    auto made = std::move(BuiltinCacheTiers().MakeStore({{"memory", {{"size", "16M"}}}})).value();
    made->AddJob(kJob, kNoQuota);
    for (std::uint64_t inode = 0; inode < kEntries; ++inode) Put(*made, kJob, inode, 1000);
    return made;
  }();
  return *cache;
}

// Steps through the entries in an order that no prefetcher knows.
std::uint64_t Next(std::uint64_t at) { return (at * 4801 + 7) % kEntries; }

void BM_Hit(benchmark::State& state) {
  SampleStore& cache = Filled();
  std::uint64_t at = static_cast<std::uint64_t>(state.thread_index());
  for (auto _ : state) {
    const CacheLookup found = cache.Find(kJob, Key(at = Next(at)));
    benchmark::DoNotOptimize(found.pin.bytes().data());
  }
}
BENCHMARK(BM_Hit)->Threads(1)->Threads(2);

void BM_MissWithoutRoom(benchmark::State& state) {
  SampleStore& cache = Filled();
  std::uint64_t at = 0;
  for (auto _ : state) {
    const CacheKey key = Key(kEntries + (at = Next(at)));
    const CacheLookup found = cache.Find(kJob, key);
    benchmark::DoNotOptimize(found.pin.bytes().data());
    const auto claim = cache.TryClaim(kJob, key, std::size_t{1} << 20);
    benchmark::DoNotOptimize(claim);
  }
}
BENCHMARK(BM_MissWithoutRoom);

}  // namespace
}  // namespace headrace::dataworker

BENCHMARK_MAIN();
