#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

Item Of(std::uint64_t data_set, ItemId id, double cost_s, std::uint64_t bytes = 1) {
  return {.id = id, .bytes = bytes, .cost_s = cost_s, .data_set = data_set};
}

TEST(Value, TheLeastSecondsAByteGoFirst) {
  auto order = MakeOrder("value", 100);
  order->Admit(Of(1, 1, 6, 3), 0);  // 2 a byte
  order->Admit(Of(2, 2, 3, 1), 0);
  order->Admit(Of(3, 3, 4, 4), 0);  // 1
  EXPECT_EQ(order->Choose(nullptr, 8, 0), (Ids{3, 1, 2}));
}

TEST(Value, UsesCountTheFirstOneHalf) {
  auto order = MakeOrder("value", 100);
  order->Admit(Of(1, 1, 1), 0);
  order->Hit(1, 0);              // 1.5 uses of 1 s
  order->Admit(Of(2, 2, 2), 0);  // half a use of 2 s
  order->Admit(Of(3, 3, 4), 0);  // of 4 s
  EXPECT_EQ(order->Choose(nullptr, 3, 0), (Ids{2, 1, 3}));
}

TEST(Value, AUseCountsHalfAfterFourCachesFullOfMisses) {
  auto order = MakeOrder("value", 10);
  order->Admit(Of(1, 1, 4), 0);
  order->Hit(1, 0);                    // 1.5 * 4 = 6, and 3 later
  order->Refuse(Of(9, 90, 1, 39), 0);  // with the byte of item 1: 40, 4 caches full
  order->Admit(Of(2, 2, 5.9), 1);      // 2.95
  order->Admit(Of(3, 3, 6.1), 1);      // 3.05
  EXPECT_EQ(order->Choose(nullptr, 3, 1), (Ids{2, 1, 3}));
}

TEST(Value, ANewcomerComesInOnlyForLessThanItIsWorth) {
  ModelCache cache = CacheWith("value", 2);
  for (const ItemId id : {1, 2}) cache.Ask(Of(1, id, 3), 0);  // at one moment
  EXPECT_EQ(GoneAfter(cache, {Of(2, 21, 2)}, 0), Ids());
  EXPECT_EQ(GoneAfter(cache, {Of(2, 22, 4)}, 0), (Ids{2})) << "the one of the set that came last";
  // Two bytes of 5 together against what goes for them: 3 and 4.
  EXPECT_EQ(GoneAfter(cache, {Of(3, 31, 6.9, 2)}, 0), Ids());
  EXPECT_EQ(GoneAfter(cache, {Of(3, 32, 7.2, 2)}, 0), (Ids{1, 22}));
}

TEST(Value, WhatIsAskedForAgainAndAgainComesIn) {
  ModelCache cache = CacheWith("value", 1);
  GoneAfter(cache, {Of(1, 1, 2)});
  EXPECT_EQ(GoneAfter(cache, {Of(2, 2, 1)}, 1), Ids());  // half a use of 1 s against one of 2 s
  EXPECT_EQ(GoneAfter(cache, {Of(2, 2, 1)}, 2), (Ids{1})) << "one and a half of it";
}

TEST(Value, NothingGoesForItsOwnDataSet) {
  ModelCache cache = CacheWith("value", 3);
  for (const ItemId id : {1, 2}) cache.Ask(Of(1, id, 1), 0);
  cache.Ask(Of(2, 3, 50), 0);
  EXPECT_EQ(GoneAfter(cache, {Of(1, 4, 10), Of(1, 5, 10)}, 1), Ids());
  EXPECT_EQ(GoneAfter(cache, {Of(3, 6, 10)}, 2), (Ids{2})) << "for another's";
}

TEST(Value, WhatIsNotNeededStays) {
  auto order = MakeOrder("value", 100);
  order->Admit(Of(1, 1, 1, 2), 0);
  order->Admit(Of(1, 2, 60, 6), 0);
  EXPECT_EQ(order->Choose(nullptr, 5, 0), (Ids{2})) << "1 alone is too little, 2 alone is enough";
}

TEST(Value, WhatCostsNothingGoesFirst) {
  ModelCache cache = CacheWith("value", 2);
  EXPECT_EQ(GoneAfter(cache, {Of(1, 1, 0), Of(2, 2, 1e-9), Of(3, 3, 1e-12)}), (Ids{1}));
  EXPECT_EQ(GoneAfter(cache, {Of(4, 4, 0)}, 9), Ids()) << "for nothing nothing goes";
}

}  // namespace
}  // namespace headrace::eviction
