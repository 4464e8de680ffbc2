#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

// In-cache LFU with ties by recency, as Shah et al. state it (An O(1) algorithm for implementing the LFU
// cache eviction scheme, 2010).
TEST(Lfu, WhatWasUsedLeastOftenGoesFirst) {
  ModelCache cache = CacheWith("lfu", 3);
  EXPECT_EQ(GoneAfter(cache, PlainItems({1, 1, 2, 2, 3, 4, 5})), (Ids{3, 4}));
}

TEST(Lfu, OfEqualOnesTheOneUsedLongestAgo) {
  ModelCache cache = CacheWith("lfu", 3);
  EXPECT_EQ(GoneAfter(cache, PlainItems({1, 2, 3, 1, 2, 3, 4})), (Ids{1}));
}

TEST(Lfu, WhatHasLeftIsForgotten) {
  ModelCache cache = CacheWith("lfu", 2);
  // 1 has been used five times when it goes for the smaller cache; then it counts as new.
  GoneAfter(cache, PlainItems({1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}));
  ASSERT_TRUE(cache.Resize(1, 20));
  ASSERT_TRUE(cache.Resize(2, 21));
  EXPECT_EQ(GoneAfter(cache, PlainItems({1, 3}), 30), (Ids{1}));
}

}  // namespace
}  // namespace headrace::eviction
