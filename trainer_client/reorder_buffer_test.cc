#include "trainer_client/reorder_buffer.h"

#include <vector>

#include "gtest/gtest.h"
#include "trainer_client/stall_meter.h"

namespace headrace::client {
namespace {

TEST(ReorderBuffer, HoldsLaterBatchesBackUntilTheGapIsFilled) {
  ReorderBuffer<int> buffer(true);
  buffer.Restart(5, [](int) {});
  EXPECT_TRUE(buffer.Put(6, 60));
  EXPECT_FALSE(buffer.Take().has_value());
  EXPECT_TRUE(buffer.Put(5, 50));
  EXPECT_EQ(buffer.Take(), 50);
  EXPECT_EQ(buffer.Take(), 60);
}

TEST(ReorderBuffer, SecondCopyOfABatchIsRefused) {
  ReorderBuffer<int> buffer(true);
  EXPECT_TRUE(buffer.Put(0, 1));
  EXPECT_FALSE(buffer.Put(0, 2));
  EXPECT_EQ(buffer.Take(), 1);
  EXPECT_FALSE(buffer.Put(0, 3));
}

TEST(ReorderBuffer, OutOfOrderGivesWhateverIsThere) {
  ReorderBuffer<int> buffer(false);
  buffer.Put(3, 30);
  EXPECT_EQ(buffer.Take(), 30);
  buffer.Put(1, 10);
  EXPECT_EQ(buffer.Take(), 10);
}

TEST(ReorderBuffer, RestartGivesBackWhatItHeld) {
  ReorderBuffer<int> buffer(true);
  buffer.Put(1, 10);
  buffer.Put(2, 20);
  EXPECT_EQ(buffer.Withdraw(2), 20);
  std::vector<int> dropped;
  buffer.Restart(0, [&](int item) { dropped.push_back(item); });
  EXPECT_EQ(dropped, std::vector<int>{10});
  EXPECT_FALSE(buffer.HasNext());
}

TEST(StallMeter, PauseBetweenIterationsIsNoStep) {
  using std::chrono::milliseconds;
  const auto at = [](int ms) { return SteadyTime(milliseconds(ms)); };
  StallMeter meter;
  meter.EnterNext(at(0));
  meter.LeaveNext(at(10));  // 10 ms stall
  meter.EnterNext(at(30));  // 20 ms step
  meter.LeaveNext(at(31));  // 1 ms stall
  meter.Restart();
  meter.EnterNext(at(1000));
  meter.LeaveNext(at(1002));  // 2 ms stall
  EXPECT_EQ(meter.stall_ns(), 13'000'000U);
  EXPECT_EQ(meter.step_ns(), 20'000'000U);
}

}  // namespace
}  // namespace headrace::client
