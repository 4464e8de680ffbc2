#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "eviction/core/model_cache.h"
#include "eviction/core/order.h"

// For tests of orders.
namespace headrace::eviction {

inline std::unique_ptr<EvictionOrder> MakeOrder(std::string_view name, std::uint64_t capacity) {
  return BuiltinOrders().Find(name)->make(capacity);
}
inline ModelCache CacheWith(std::string_view order, std::uint64_t capacity) {
  return {capacity, MakeOrder(order, capacity)};
}

// An item of one byte that costs a second.
inline Item Plain(ItemId id, std::uint64_t data_set = 0) {
  return {.id = id, .bytes = 1, .cost_s = 1, .data_set = data_set};
}

// Asks for items one after the other, a second apart; returns what went, in order.
inline std::vector<ItemId> GoneAfter(ModelCache& cache, const std::vector<Item>& asked,
                                     double begin_s = 0) {
  std::vector<ItemId> gone;
  for (const Item& item : asked) {
    cache.Ask(item, begin_s++);
    gone.insert(gone.end(), cache.gone().begin(), cache.gone().end());
  }
  return gone;
}
inline std::vector<Item> PlainItems(const std::vector<ItemId>& ids) {
  std::vector<Item> items;
  for (const ItemId id : ids) items.push_back(Plain(id));
  return items;
}

using Ids = std::vector<ItemId>;

}  // namespace headrace::eviction
