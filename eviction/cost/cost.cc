#include <memory>

#include "eviction/core/ranked_order.h"

namespace headrace::eviction {
namespace {

// The cheapest item goes first; of equal ones, the one that came first. DLCache calls it Greedy.
class Cost final : public RankedOrder {
 public:
  void Admit(const Item& item, double /*now_s*/) override {
    items_.Add(item, {.first = item.cost_s, .tick = Tick()});
  }
  void Hit(ItemId /*id*/, double /*now_s*/) override {}
};

}  // namespace

void RegisterEvictionCost(OrderRegistry& registry) {
  registry.Add({.name = "cost",
                .summary = "what is the cheapest to make goes first",
                .make = [](std::uint64_t) { return std::make_unique<Cost>(); }});
}

}  // namespace headrace::eviction
