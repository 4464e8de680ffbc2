// Measures what the stall meter costs a step of the trainer.
#include <utility>

#include "benchmark/benchmark.h"
#include "trainer_client/session/batch_mailbox.h"

namespace headrace::client {
namespace {

// A batch whose answer came a moment ago, after work in a worker.
BatchTimeline Worked(SteadyTime now) {
  using std::chrono::microseconds;
  BatchTimeline timeline;
  timeline.submitted = now - microseconds(5000);
  timeline.planned = now - microseconds(4900);
  timeline.sent = now - microseconds(4800);
  timeline.arrived = now - microseconds(30);
  timeline.ready = now - microseconds(20);
  timeline.worker.queue = microseconds(700);
  timeline.worker.wall = microseconds(4500);
  timeline.worker.source = microseconds(900);
  timeline.worker.compute = microseconds(6000);
  return timeline;
}

void ReadTheClock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Clock::Real().Now());
}
BENCHMARK(ReadTheClock);

// A wait that began in the middle of the work.
void DivideOneWait(benchmark::State& state) {
  const SteadyTime now = Clock::Real().Now();
  const BatchTimeline timeline = Worked(now);
  SteadyTime from = now - std::chrono::microseconds(2000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(from);
    benchmark::DoNotOptimize(DivideWait(from, now, timeline));
  }
}
BENCHMARK(DivideOneWait);

// From the reactor's Put to the trainer's batch. Marked: as the Python loader takes it.
void TakeABatch(benchmark::State& state, bool marked) {
  const Clock& clock = Clock::Real();
  BatchMailbox shared(/*in_order=*/true);
  std::int64_t number = 0;
  for (auto _ : state) {
    ReadyBatch ready;
    ready.batch.batch = number;
    ready.timeline = Worked(clock.Now());
    shared.Put(number++, std::move(ready));
    if (marked) {
      shared.EnterNext(clock);
      shared.EnterSampler(clock);
      shared.LeaveSampler(clock);
    }
    benchmark::DoNotOptimize(shared.Next(std::chrono::milliseconds(0), Clock::Real()));
    if (marked) shared.LeaveNext(clock);
    (void)shared.TakeDelivered();
  }
}
BENCHMARK_CAPTURE(TakeABatch, unmarked, false);
BENCHMARK_CAPTURE(TakeABatch, marked, true);

// What a heartbeat reads.
void ReadTheStats(benchmark::State& state) {
  BatchMailbox shared(/*in_order=*/true);
  for (auto _ : state) benchmark::DoNotOptimize(shared.GrowingStats(Clock::Real()));
}
BENCHMARK(ReadTheStats);

}  // namespace
}  // namespace headrace::client

BENCHMARK_MAIN();
