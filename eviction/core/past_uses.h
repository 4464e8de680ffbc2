#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "eviction/core/order.h"

namespace headrace::eviction {

// How often and how lately an item was asked for: each use counts 2^-(age / half-life). All uses fade
// alike. So the logarithm of their sum, as it would have been at time zero, changes with a use only,
// and orders items at any time. Numbers here are such logarithms, to base 2.
//
// Remembers items that are not in the cache, and of those the newest `most`. One thread.
class PastUses {
 public:
  // `half_life`: in the unit of `at`.
  explicit PastUses(double half_life, std::size_t most = kMost)
      : half_life_(half_life), most_(most) {}

  // Uses at a time, and uses that came before.
  [[nodiscard]] double Of(double uses, double at) const;
  [[nodiscard]] double Sum(double a, double b) const;

  // What is remembered of an item that is not in the cache.
  [[nodiscard]] std::optional<double> Recall(ItemId id) const;
  // The item has left the cache, or did not come in.
  void Remember(ItemId id, double past);
  void Forget(ItemId id);
  [[nodiscard]] std::size_t remembered() const { return places_.size(); }

  static constexpr std::size_t kMost = 65536;  // some 6 MB

 private:
  using List = std::list<std::pair<ItemId, double>>;  // oldest first
  const double half_life_;
  const std::size_t most_;
  List list_;
  std::unordered_map<ItemId, List::iterator> places_;
};

}  // namespace headrace::eviction
