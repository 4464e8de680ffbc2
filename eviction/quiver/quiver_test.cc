#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

Item InSet(std::uint64_t data_set, ItemId id, double cost_s) {
  return {.id = id, .bytes = 1, .cost_s = cost_s, .data_set = data_set};
}

// Kumar and Sivathanu, FAST 2020: the cache goes to the data sets that gain most from it.
TEST(Quiver, TheSetWithTheLeastBenefitGivesWay) {
  ModelCache cache = CacheWith("quiver", 4);
  GoneAfter(cache, {InSet(1, 11, 1), InSet(1, 12, 3), InSet(2, 21, 5),
                    InSet(2, 22, 5)});  // 2 and 5 s a byte
  EXPECT_EQ(GoneAfter(cache, {InSet(3, 31, 3)}, 10), (Ids{12})) << "of the set, what came last";
  EXPECT_EQ(GoneAfter(cache, {InSet(3, 32, 3)}, 20), (Ids{11}));
  EXPECT_EQ(GoneAfter(cache, {InSet(3, 33, 3)}, 30), Ids()) << "2 is worth more";
  EXPECT_FALSE(cache.Has(33));
}

TEST(Quiver, WithinASetNothingGoesForAnother) {
  ModelCache cache = CacheWith("quiver", 2);
  EXPECT_EQ(GoneAfter(cache, {InSet(1, 11, 1), InSet(1, 12, 1), InSet(1, 13, 100)}), Ids());
}

}  // namespace
}  // namespace headrace::eviction
