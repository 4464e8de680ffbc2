// Measures what the queue costs for each unit: work that does nothing, on real threads.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/process/stats.h"
#include "dataworker/exec/tbb_executor.h"
#include "dataworker/share/fair_share.h"
#include "dataworker/share/work_queue.h"

namespace headrace::dataworker {
namespace {

class Nothing final : public Work {
 public:
  Nothing(std::int64_t units, std::atomic<int>& ends) : Work(units), ends_(ends) {}

 protected:
  void Run(std::int64_t /*unit*/, ThreadContext& /*context*/) override {}
  void Finish() override { ends_.fetch_add(1, std::memory_order_release); }

 private:
  std::atomic<int>& ends_;
};

// Batches of 64 units of several jobs: units a second, and CPU time of the process for each.
void BM_QueuedUnit(benchmark::State& state) {
  constexpr int kBatches = 100, kBatch = 64;
  const auto executor = MakeTbbExecutor(static_cast<int>(state.range(0)));
  WorkQueue queue({*executor, Clock::Real(), [](Duration) {}});
  const std::int64_t jobs = state.range(1);
  const double cpu = OwnCpuSeconds();
  for (auto _ : state) {
    std::atomic<int> ends = 0;
    for (int i = 0; i < kBatches; ++i) {
      queue.Push(JobId(i % jobs), SessionId(i % jobs), std::make_shared<Nothing>(kBatch, ends));
    }
    while (ends.load(std::memory_order_acquire) < kBatches) std::this_thread::yield();
  }
  const auto units = static_cast<double>(state.iterations() * kBatches * kBatch);
  state.SetItemsProcessed(static_cast<std::int64_t>(units));
  state.counters["cpu_ns_a_unit"] = (OwnCpuSeconds() - cpu) * 1e9 / units;
  executor->Stop();
}
BENCHMARK(BM_QueuedUnit)
    ->ArgNames({"threads", "jobs"})
    ->Args({1, 1})
    ->Args({1, 4})
    ->Args({2, 1})
    ->Args({2, 4})
    ->Args({2, 100})
    ->UseRealTime();

// The choice alone.
void BM_FairTurn(benchmark::State& state) {
  FairShare share;
  std::vector<std::unique_ptr<FairShare::Member>> members;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    members.push_back(std::make_unique<FairShare::Member>(1 + static_cast<double>(i % 7)));
    share.Activate(*members.back());
  }
  double cost = 1;
  for (auto _ : state) {
    FairShare::Member& member = *share.First();
    share.Settle(member, share.Start(member), cost);
    cost = cost > 1000 ? 1 : cost * 1.1;
  }
}
BENCHMARK(BM_FairTurn)->ArgName("jobs")->Arg(1)->Arg(10)->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace headrace::dataworker

BENCHMARK_MAIN();
