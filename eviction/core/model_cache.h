#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eviction/core/order.h"

namespace headrace::eviction {

// A cache that keeps nothing but books: what it has, what came and what went, under one order. For
// the simulator and for tests. One thread.
class ModelCache {
 public:
  ModelCache(std::uint64_t capacity, std::unique_ptr<EvictionOrder> order)
      : capacity_(capacity), order_(std::move(order)) {}

  // A job asks for an item. True: it was there. On a miss the item comes in if it fits, or if the
  // order names what goes for it. `item.visits` is of no account: each call is one visit.
  bool Ask(Item item, double now_s);
  // Items that a job uses now do not go before Free.
  void Hold(ItemId id) { order_->Hold(id); }
  void Free(ItemId id) { order_->Free(id); }
  // Takes an item out. REQUIRES: it is there.
  void Drop(ItemId id);
  // Makes the cache smaller or larger. False: the order has not enough to name, and nothing changes.
  bool Resize(std::uint64_t capacity, double now_s);

  [[nodiscard]] bool Has(ItemId id) const { return bytes_.contains(id); }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  // What went in the last call, first to last.
  [[nodiscard]] const std::vector<ItemId>& gone() const { return gone_; }

 private:
  bool MakeRoom(const Item* newcomer, std::uint64_t bytes, double now_s);

  std::uint64_t capacity_;
  const std::unique_ptr<EvictionOrder> order_;
  std::uint64_t used_ = 0;
  std::unordered_map<ItemId, std::uint64_t> bytes_;
  std::vector<ItemId> gone_;
};

}  // namespace headrace::eviction
