#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

TEST(Cost, TheCheapestGoesFirstHoweverOftenItWasUsed) {
  auto order = MakeOrder("cost", 10);
  order->Admit({.id = 1, .bytes = 1, .cost_s = 5}, 0);
  order->Admit({.id = 2, .bytes = 1, .cost_s = 2}, 0);
  order->Admit({.id = 3, .bytes = 1, .cost_s = 2}, 0);
  order->Hit(2, 1);
  EXPECT_EQ(order->Choose(nullptr, 3, 2), (Ids{2, 3, 1}));
}

}  // namespace
}  // namespace headrace::eviction
