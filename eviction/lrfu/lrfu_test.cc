#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

// Lee et al., IEEE Transactions on Computers 2001, with (1/2)^(0.5 * age) of DLCache's simulation.
TEST(Lrfu, TheLeastFadedSumGoesFirst) {
  auto order = MakeOrder("lrfu", 10);
  order->Admit(Plain(1), 0);
  order->Hit(1, 2);           // at 4: 1/4 + 1/2
  order->Admit(Plain(2), 4);  // at 4: 1
  EXPECT_EQ(order->Choose(nullptr, 1, 4), (Ids{1}));
  order->Hit(1, 3);  // at 4: 3/4 + 0.707
  EXPECT_EQ(order->Choose(nullptr, 1, 4), (Ids{2}));
}

TEST(Lrfu, UsesBeforeItLeftCount) {
  auto order = MakeOrder("lrfu", 10);
  order->Admit(Plain(1), 0);
  order->Hit(1, 0);
  order->Remove(1);
  order->Admit(Plain(1), 0);  // 3
  order->Admit(Plain(2), 0);
  order->Hit(2, 0);  // 2
  EXPECT_EQ(order->Choose(nullptr, 1, 0), (Ids{2}));
}

}  // namespace
}  // namespace headrace::eviction
