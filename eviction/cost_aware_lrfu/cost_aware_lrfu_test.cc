#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

// DLCache (Kang et al., ISORC 2023), as its published simulation sorts: by the faded sum of uses, then by
// cost.
TEST(CostAwareLrfu, OfEqualSumsTheCheaperGoesFirst) {
  auto order = MakeOrder("cost_aware_lrfu", 10);
  order->Admit({.id = 1, .bytes = 1, .cost_s = 5}, 0);
  order->Admit({.id = 2, .bytes = 1, .cost_s = 2}, 0);
  order->Admit({.id = 3, .bytes = 1, .cost_s = 9}, 0);
  EXPECT_EQ(order->Choose(nullptr, 2, 1), (Ids{2, 1}));
}

TEST(CostAwareLrfu, UsesComeBeforeCost) {
  auto order = MakeOrder("cost_aware_lrfu", 10);
  order->Admit({.id = 1, .bytes = 1, .cost_s = 1}, 0);
  order->Admit({.id = 2, .bytes = 1, .cost_s = 1000}, 0);
  order->Hit(1, 0);
  EXPECT_EQ(order->Choose(nullptr, 1, 0), (Ids{2}));
}

}  // namespace
}  // namespace headrace::eviction
