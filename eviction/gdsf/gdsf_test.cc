#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

// Cherkasova, HP Labs 1998: key = L + uses * cost / bytes.
TEST(Gdsf, TheLeastKeyGoesFirst) {
  ModelCache cache = CacheWith("gdsf", 10);
  const std::vector<Item> asked = {
      {.id = 1, .bytes = 4, .cost_s = 8},   // 2
      {.id = 2, .bytes = 4, .cost_s = 12},  // 3
      {.id = 3, .bytes = 2, .cost_s = 2},   // 1
      {.id = 3, .bytes = 2, .cost_s = 2},   // 2 uses: 2, later than item 1
      {.id = 4, .bytes = 4, .cost_s = 4},
  };
  EXPECT_EQ(GoneAfter(cache, asked), (Ids{1}));
}

TEST(Gdsf, WhatIsNotUsedFallsBack) {
  ModelCache cache = CacheWith("gdsf", 2);
  // Item 1 has the key 3. Each newcomer raises L by 1: 2 at 1, 3 at 2, 4 at 3, and item 1 is the older.
  const auto cheap = [](ItemId id) { return Item{.id = id, .bytes = 1, .cost_s = 1}; };
  EXPECT_EQ(GoneAfter(cache,
                      {{.id = 1, .bytes = 1, .cost_s = 3}, cheap(2), cheap(3), cheap(4), cheap(5)}),
            (Ids{2, 3, 1}));
}

}  // namespace
}  // namespace headrace::eviction
