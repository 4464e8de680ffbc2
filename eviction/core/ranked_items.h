#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eviction/core/order.h"

namespace headrace::eviction {

// The place of an item: the least goes first. `tick` makes places differ.
struct Rank {
  double first = 0;
  double second = 0;
  std::uint64_t tick = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

// The items of a cache in their order, by data set: the least of all sets but one is found without
// a look at the items of that one. One thread.
class RankedItems {
 public:
  struct Placed {
    Item item;
    Rank rank;
    double uses = 0;  // in the unit of the order that keeps it
    bool held = false;
  };

  // REQUIRES: it is not there.
  void Add(const Item& item, const Rank& rank, double uses = 0);
  // REQUIRES of all of these: it is there.
  [[nodiscard]] Placed& At(ItemId id);
  void Move(ItemId id, const Rank& rank);
  void Erase(ItemId id);
  void Hold(ItemId id);
  void Free(ItemId id);

  // The least items of `bytes` or more together that are not held, without those of one data set.
  // Empty: there are not so many.
  [[nodiscard]] std::vector<ItemId> Least(
      std::uint64_t bytes, std::optional<std::uint64_t> without_set = std::nullopt) const;

 private:
  using Line = std::set<std::pair<Rank, ItemId>>;
  void Insert(const Placed& placed);
  void Take(const Placed& placed);

  std::unordered_map<ItemId, Placed> items_;
  // Those that are not held.
  std::map<std::uint64_t, Line> sets_;                          // by data set; none is empty
  std::set<std::pair<Line::value_type, std::uint64_t>> heads_;  // the least of each set
};

}  // namespace headrace::eviction
