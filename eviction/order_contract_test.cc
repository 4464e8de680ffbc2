// What every order keeps to, found by random events from a seed.
#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "eviction/core/order_test_util.h"

namespace headrace::eviction {
namespace {

class OrderContract : public testing::TestWithParam<std::string> {};

Item RandomItem(std::mt19937& random) {
  const ItemId id = random() % 60;
  // The same item always has the same size and cost.
  return {.id = id,
          .bytes = 1 + id * 7 % 20,
          .cost_s = static_cast<double>(1 + id * 13 % 17),
          .data_set = id % 5};
}

// A cache under random events, each of them checked. Returns all that went, with the event's number.
std::vector<std::pair<int, ItemId>> Play(const std::string& name, unsigned seed) {
  std::mt19937 random(seed);
  std::uint64_t capacity = 40 + random() % 100;
  ModelCache cache = CacheWith(name, capacity);
  std::set<ItemId> inside, held;
  std::vector<std::pair<int, ItemId>> all;
  const auto check = [&](int event, std::uint64_t needed) {
    SCOPED_TRACE(name + ", seed " + std::to_string(seed) + ", event " + std::to_string(event));
    std::uint64_t sum = 0;
    for (const ItemId id : cache.gone()) {
      EXPECT_TRUE(inside.erase(id)) << "not there, or named twice: " << id;
      EXPECT_FALSE(held.contains(id)) << id;
      EXPECT_LT(sum, needed) << "enough had gone before " << id;
      sum += 1 + id * 7 % 20;
      all.emplace_back(event, id);
    }
    EXPECT_LE(cache.used(), cache.capacity());
  };
  for (int event = 0; event < 2000; ++event) {
    const double now_s = event / 10;
    const Item item = RandomItem(random);
    const std::uint64_t used = cache.used();
    switch (random() % 12) {
      case 0:
        if (!inside.contains(item.id)) break;
        cache.Hold(item.id);
        held.insert(item.id);
        break;
      case 1:
      case 2:
        if (!held.erase(item.id)) break;
        cache.Free(item.id);
        break;
      case 3:
        if (!inside.erase(item.id)) break;
        held.erase(item.id);
        cache.Drop(item.id);
        break;
      case 4: {
        const std::uint64_t wanted = 30 + random() % 110;
        const bool done = cache.Resize(wanted, now_s);
        std::uint64_t kept = 0;
        for (const ItemId id : held) kept += 1 + id * 7 % 20;
        EXPECT_EQ(done, kept <= wanted) << "all that is not held can go";
        if (done) capacity = wanted;
        check(event, used > capacity ? used - capacity : 0);
        break;
      }
      default: {
        const bool hit = cache.Ask(item, now_s);
        EXPECT_EQ(hit, inside.contains(item.id));
        check(event, used + item.bytes > capacity ? used + item.bytes - capacity : 0);
        if (!hit && cache.Has(item.id)) inside.insert(item.id);
        for (const ItemId id : inside) EXPECT_TRUE(cache.Has(id)) << id;
      }
    }
    if (testing::Test::HasFailure()) break;
  }
  return all;
}

TEST_P(OrderContract, NamesWhatIsNeededAndNothingThatIsHeld) {
  for (unsigned seed = 0; seed < 20 && !HasFailure(); ++seed) Play(GetParam(), seed);
}

TEST_P(OrderContract, TheSameEventsGiveTheSameAnswers) {
  EXPECT_EQ(Play(GetParam(), 99), Play(GetParam(), 99));
  EXPECT_FALSE(Play(GetParam(), 99).empty());
}

TEST_P(OrderContract, ItIsCalledByAKnownNameAndSaysWhatItDoes) {
  const OrderDescriptor* order = BuiltinOrders().Find(GetParam());
  ASSERT_NE(order, nullptr);
  EXPECT_FALSE(order->summary.empty());
  EXPECT_EQ(BuiltinOrders().Find(GetParam() + "x"), nullptr);
}

TEST_P(OrderContract, RefusesOnlyIfItSaysSo) {
  const bool may = BuiltinOrders().Find(GetParam())->refuses;
  std::mt19937 random(5);
  ModelCache cache = CacheWith(GetParam(), 60);
  bool refused = false;
  for (int event = 0; event < 2000; ++event) {
    const Item item = RandomItem(random);
    cache.Ask(item, event);
    refused = refused || !cache.Has(item.id);
  }
  EXPECT_EQ(refused, may);
}

// An order that looks at all items for each event is at it for minutes here.
TEST_P(OrderContract, ManyItemsTakeNoLonger) {
  constexpr std::uint64_t kItems = 50'000;
  ModelCache cache = CacheWith(GetParam(), kItems);
  for (std::uint64_t i = 0; i < 2 * kItems; ++i) {
    const ItemId id = i < kItems ? i : (i * 7919) % (2 * kItems);
    cache.Ask(
        {.id = id, .bytes = 1, .cost_s = static_cast<double>(1 + id % 100), .data_set = id % 3},
        static_cast<double>(i / 1000));
  }
  for (std::uint64_t keep = kItems; keep > 0; keep -= 1000) {
    ASSERT_TRUE(cache.Resize(keep, 1e6));
  }
  EXPECT_LE(cache.used(), 1000U);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const OrderDescriptor* order : BuiltinOrders().All()) names.push_back(order->name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, OrderContract, testing::ValuesIn(Names()),
                         [](const auto& order) { return order.param; });

TEST(Orders, TheDefaultIsThere) { EXPECT_NE(BuiltinOrders().Find(kDefaultOrder), nullptr); }

}  // namespace
}  // namespace headrace::eviction
