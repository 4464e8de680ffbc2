// One contract, run over every executor.
#include "dataworker/exec/executor.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "dataworker/exec/inline_executor.h"
#include "dataworker/exec/tbb_executor.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

struct Inline {
  static std::unique_ptr<Executor> Make() { return std::make_unique<InlineExecutor>(); }
};
struct TbbOne {
  static std::unique_ptr<Executor> Make() { return MakeTbbExecutor(1); }
};
struct TbbFour {
  static std::unique_ptr<Executor> Make() { return MakeTbbExecutor(4); }
};

template <typename Kind>
class ExecutorContract : public ::testing::Test {};
using Kinds = ::testing::Types<Inline, TbbOne, TbbFour>;
TYPED_TEST_SUITE(ExecutorContract, Kinds);

TYPED_TEST(ExecutorContract, StopRunsEverythingThatWasSubmitted) {
  auto executor = TypeParam::Make();
  std::atomic<int> ran = 0;
  for (int i = 0; i < 1000; ++i) executor->Submit([&](ThreadContext&) { ++ran; });
  executor->Stop();
  EXPECT_EQ(ran, 1000);
}

TYPED_TEST(ExecutorContract, TasksThatRunTogetherHaveDifferentContexts) {
  auto executor = TypeParam::Make();
  std::mutex mutex;
  std::set<ThreadContext*> lent;
  std::set<int> indices;
  int most = 0;
  bool clash = false;
  for (int i = 0; i < 2000; ++i) {
    executor->Submit([&](ThreadContext& context) {
      {
        const std::lock_guard lock(mutex);
        clash |= !lent.insert(&context).second;
        most = std::max(most, static_cast<int>(lent.size()));
        indices.insert(context.index);
      }
      context.file.Ensure(4096)[7] = 1;
      const std::lock_guard lock(mutex);
      lent.erase(&context);
    });
  }
  executor->Stop();
  EXPECT_FALSE(clash);
  EXPECT_LE(most, executor->concurrency());
  EXPECT_GE(*indices.begin(), 0);
  EXPECT_LT(*indices.rbegin(), executor->concurrency());
}

TYPED_TEST(ExecutorContract, ATaskMaySubmit) {
  auto executor = TypeParam::Make();
  std::atomic<int> ran = 0;
  std::atomic<bool> all_in = false;
  executor->Submit([&](ThreadContext&) {
    for (int i = 0; i < 10; ++i) executor->Submit([&](ThreadContext&) { ++ran; });
    all_in = true;
    all_in.notify_all();
  });
  if (executor->concurrency() > 1 || dynamic_cast<InlineExecutor*>(executor.get()) == nullptr) {
    all_in.wait(false);
  } else {
    static_cast<InlineExecutor*>(executor.get())->RunAll();
  }
  executor->Stop();
  EXPECT_EQ(ran, 10);
}

TYPED_TEST(ExecutorContract, AfterStopTasksAreDropped) {
  auto executor = TypeParam::Make();
  executor->Stop();
  bool ran = false;
  executor->Submit([&](ThreadContext&) { ran = true; });
  executor->Stop();
  EXPECT_FALSE(ran);
}

TYPED_TEST(ExecutorContract, OneThreadKeepsTheOrder) {
  auto executor = TypeParam::Make();
  if (executor->concurrency() != 1) GTEST_SKIP() << "order of starts, seen only with one thread";
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) executor->Submit([&, i](ThreadContext&) { order.push_back(i); });
  executor->Stop();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace headrace::dataworker
