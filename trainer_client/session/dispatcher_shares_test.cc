// How much a slow worker is asked for, on a simulated clock.
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/test_time.h"
#include "gtest/gtest.h"
#include "trainer_client/session/dispatcher.h"

namespace headrace::client {
namespace {

constexpr std::int64_t kWindow = 16;  // batches that are asked for and not delivered

// Each worker makes one batch after the other, in its own time, in ms; delivery is in order. Returns
// the share of the batches that the first worker made, of 2,000.
double ShareOfTheFirst(const std::vector<std::int64_t>& times, Dispatcher::Options options = {}) {
  constexpr std::int64_t kBatches = 2000;
  Dispatcher dispatcher(options);
  struct Asked {
    std::int64_t ticket;
    std::uint32_t attempt;
  };
  std::vector<std::vector<Asked>> queues(times.size());
  std::vector<std::int64_t> done_at(times.size(), -1);
  std::vector<bool> made(kBatches);
  for (std::size_t i = 0; i < times.size(); ++i) {
    dispatcher.SetWorker(WorkerId(static_cast<std::int64_t>(i)), Dispatcher::WorkerState::kReady);
  }
  std::int64_t submitted = 0, delivered = 0, by_first = 0;
  for (std::int64_t now = 0; delivered < kBatches; ++now) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (done_at[i] != now) continue;
      const Asked asked = queues[i].front();
      queues[i].erase(queues[i].begin());
      const auto verdict =
          dispatcher.OnAnswer(WorkerId(static_cast<std::int64_t>(i)), asked.attempt,
                              Dispatcher::Answer::kMade, 0, At(now));
      if (verdict == Dispatcher::Verdict::kTake) {
        made[static_cast<std::size_t>(asked.ticket)] = true;
        if (i == 0) ++by_first;
      }
      done_at[i] = queues[i].empty() ? -1 : now + times[i];
    }
    while (delivered < kBatches && made[static_cast<std::size_t>(delivered)]) ++delivered;
    for (; submitted < std::min(kBatches, delivered + kWindow); ++submitted) {
      dispatcher.Add(submitted, 100, {}, 0);
    }
    for (const Dispatcher::Send& send : dispatcher.Poll(At(now))) {
      const auto i = static_cast<std::size_t>(send.worker.value);
      queues[i].push_back({send.ticket, send.attempt});
      if (done_at[i] < 0) done_at[i] = now + times[i];
    }
  }
  return static_cast<double>(by_first) / kBatches;
}

TEST(DispatcherShares, AWorkerThatIsSlowerMakesLess) {
  EXPECT_NEAR(ShareOfTheFirst({20, 20}), 0.5, 0.02);
  // Its part of the speed of both is 1/3, 1/5 and 1/11. From four times as slow on, its batches are
  // late, and its peers make most of them.
  EXPECT_NEAR(ShareOfTheFirst({40, 20}), 1.0 / 3, 0.05);
  EXPECT_NEAR(ShareOfTheFirst({80, 20}, {.hedge = false}), 1.0 / 5, 0.1);
  EXPECT_LT(ShareOfTheFirst({80, 20}), 1.0 / 5);
  EXPECT_LT(ShareOfTheFirst({200, 20}), 1.0 / 11 + 0.02);
  EXPECT_LT(ShareOfTheFirst({2000, 20}), 0.02);
  EXPECT_LT(ShareOfTheFirst({80, 20, 20, 20}), 1.0 / 13);
}

}  // namespace
}  // namespace headrace::client
