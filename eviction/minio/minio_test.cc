#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

// Mohan et al., VLDB 2021: what is in the cache is never replaced.
TEST(Minio, WhatIsInStaysIn) {
  ModelCache cache = CacheWith("minio", 3);
  EXPECT_EQ(GoneAfter(cache, PlainItems({1, 2, 3, 4, 5, 4, 4, 4})), Ids());
  EXPECT_FALSE(cache.Has(4));
  EXPECT_TRUE(cache.Has(1) && cache.Has(2) && cache.Has(3));
}

TEST(Minio, ASmallerCacheLosesWhatCameLast) {
  ModelCache cache = CacheWith("minio", 3);
  GoneAfter(cache, PlainItems({1, 2, 3, 1}));
  ASSERT_TRUE(cache.Resize(1, 9));
  EXPECT_EQ(cache.gone(), (Ids{3, 2}));
}

}  // namespace
}  // namespace headrace::eviction
