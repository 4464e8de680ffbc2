#pragma once

#include <cstdint>
#include <vector>

#include "eviction/core/order.h"
#include "eviction/core/ranked_items.h"

namespace headrace::eviction {

// What orders have in common that give each item a place. They say where an item goes when it comes
// and when it is asked for again. Without more, the least go first for any newcomer. One thread.
class RankedOrder : public EvictionOrder {
 public:
  void Remove(ItemId id) override { items_.Erase(id); }
  void Hold(ItemId id) final { items_.Hold(id); }
  void Free(ItemId id) final { items_.Free(id); }
  [[nodiscard]] std::vector<ItemId> Choose(const Item* /*newcomer*/, std::uint64_t bytes,
                                           double /*now_s*/) override {
    return items_.Least(bytes);
  }

 protected:
  // A number that grows with each event.
  std::uint64_t Tick() { return ++tick_; }
  RankedItems items_;

 private:
  std::uint64_t tick_ = 0;
};

}  // namespace headrace::eviction
