#pragma once

#include <optional>

#include "eviction/core/past_uses.h"
#include "eviction/core/ranked_order.h"

namespace headrace::eviction {

// LRFU (Lee et al., IEEE Transactions on Computers 2001): the item with the least sum of
// (1/2)^(age / half-life) over all its uses goes first, those from before it last left with them. Of
// equal ones the cheaper goes first, if costs count, then the one that came first. One thread.
class RecencyFrequency final : public RankedOrder {
 public:
  // Two seconds are what DLCache's simulation has: (1/2)^(0.5 * age).
  static constexpr double kHalfLife_s = 2;
  explicit RecencyFrequency(bool with_cost) : past_(kHalfLife_s), with_cost_(with_cost) {}

  void Admit(const Item& item, double now_s) override {
    const double now = past_.Of(item.visits, now_s);
    const std::optional<double> past = past_.Recall(item.id);
    const double uses = past ? past_.Sum(*past, now) : now;
    past_.Forget(item.id);
    const double cost = with_cost_ ? item.cost_s : 0;
    items_.Add(item, {.first = uses, .second = cost, .tick = Tick()}, uses);
  }
  void Hit(ItemId id, double now_s) override {
    RankedItems::Placed& placed = items_.At(id);
    placed.uses = past_.Sum(placed.uses, past_.Of(1, now_s));
    Rank rank = placed.rank;
    rank.first = placed.uses;
    items_.Move(id, rank);
  }
  void Remove(ItemId id) override {
    past_.Remember(id, items_.At(id).uses);
    RankedOrder::Remove(id);
  }

 private:
  PastUses past_;
  const bool with_cost_;
};

}  // namespace headrace::eviction
