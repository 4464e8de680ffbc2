#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

// The rule is as old as paging (Belady, IBM Systems Journal 1966), and so is what is wrong with it: a
// cycle of one item more than fits hits nothing.
TEST(Lru, WhatWasUsedLongestAgoGoesFirst) {
  ModelCache cache = CacheWith("lru", 3);
  EXPECT_EQ(GoneAfter(cache, PlainItems({1, 2, 3, 1, 4, 5, 1, 6})), (Ids{2, 3, 4}));
}

TEST(Lru, ACycleOfOneMoreThanFitsHitsNothing) {
  ModelCache cache = CacheWith("lru", 3);
  for (int i = 0; i < 40; ++i) {
    EXPECT_FALSE(cache.Ask(Plain(static_cast<ItemId>(i % 4)), i)) << i;
  }
}

}  // namespace
}  // namespace headrace::eviction
