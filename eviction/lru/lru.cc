#include <memory>

#include "eviction/core/ranked_order.h"

namespace headrace::eviction {
namespace {

// The item that was asked for longest ago goes first.
class Lru final : public RankedOrder {
 public:
  void Admit(const Item& item, double /*now_s*/) override { items_.Add(item, {.tick = Tick()}); }
  void Hit(ItemId id, double /*now_s*/) override { items_.Move(id, {.tick = Tick()}); }
};

}  // namespace

void RegisterEvictionLru(OrderRegistry& registry) {
  registry.Add({.name = "lru",
                .summary = "what was used longest ago goes first",
                .make = [](std::uint64_t) { return std::make_unique<Lru>(); }});
}

}  // namespace headrace::eviction
