#include <memory>

#include "eviction/core/ranked_order.h"

namespace headrace::eviction {
namespace {

// The item that was asked for least often since it came goes first; of equal ones, the one that was
// asked for longest ago. What has left is forgotten.
class Lfu final : public RankedOrder {
 public:
  void Admit(const Item& item, double /*now_s*/) override {
    items_.Add(item, {.first = item.visits, .tick = Tick()});
  }
  void Hit(ItemId id, double /*now_s*/) override {
    items_.Move(id, {.first = items_.At(id).rank.first + 1, .tick = Tick()});
  }
};

}  // namespace

void RegisterEvictionLfu(OrderRegistry& registry) {
  registry.Add({.name = "lfu",
                .summary = "what was used least often goes first",
                .make = [](std::uint64_t) { return std::make_unique<Lfu>(); }});
}

}  // namespace headrace::eviction
