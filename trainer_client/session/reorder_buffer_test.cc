#include "trainer_client/session/reorder_buffer.h"

#include <vector>

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace headrace::client
