#include "dataworker/exec/io_executor.h"

#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

TEST(IoExecutor, RunsAsManyTasksAtATimeAsItHasThreadsAndNoMore) {
  constexpr int kThreads = 3;
  IoExecutor io(kThreads);
  std::atomic<int> running = 0, most = 0;
  std::atomic<bool> told = false;
  std::promise<void> full, go;
  std::shared_future<void> gone = go.get_future().share();
  std::vector<std::future<void>> ends;
  for (int i = 0; i < 10; ++i) {
    auto end = std::make_shared<std::promise<void>>();
    ends.push_back(end->get_future());
    io.Submit([&, end] {
      const int now = ++running;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      if (now == kThreads && !told.exchange(true)) full.set_value();
      gone.wait();
      --running;
      end->set_value();
    });
    if (i == kThreads) {  // one waits; three are held
      full.get_future().get();
      go.set_value();
    }
  }
  for (std::future<void>& end : ends) end.get();
  EXPECT_EQ(most, kThreads);
  EXPECT_LE(io.threads(), static_cast<std::size_t>(kThreads));
}

TEST(IoExecutor, MakesNoThreadBeforeThereIsWork) {
  IoExecutor io(4);
  EXPECT_EQ(io.threads(), 0U);
  std::promise<void> ran;
  io.Submit([&] { ran.set_value(); });
  ran.get_future().get();
  EXPECT_EQ(io.threads(), 1U);
}

TEST(IoExecutor, StopRunsWhatWasSubmittedAndLaterTasksRunAtOnce) {
  IoExecutor io(2);
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) io.Submit([&] { ++ran; });
  io.Stop();
  EXPECT_EQ(ran, 100);
  io.Submit([&] { ++ran; });
  EXPECT_EQ(ran, 101);
  io.Stop();
}

}  // namespace
}  // namespace headrace::dataworker
