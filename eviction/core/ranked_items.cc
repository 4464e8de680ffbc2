#include "eviction/core/ranked_items.h"

#include <functional>
#include <queue>

#include "base/check.h"

namespace headrace::eviction {

void RankedItems::Insert(const Placed& placed) {
  Line& line = sets_[placed.item.data_set];
  if (!line.empty()) heads_.erase({*line.begin(), placed.item.data_set});
  line.emplace(placed.rank, placed.item.id);
  heads_.emplace(*line.begin(), placed.item.data_set);
}

void RankedItems::Take(const Placed& placed) {
  const auto set = sets_.find(placed.item.data_set);
  Line& line = set->second;
  heads_.erase({*line.begin(), set->first});
  line.erase({placed.rank, placed.item.id});
  if (line.empty()) {
    sets_.erase(set);
  } else {
    heads_.emplace(*line.begin(), set->first);
  }
}

void RankedItems::Add(const Item& item, const Rank& rank, double uses) {
  HR_CHECK(item.bytes > 0);
  const auto [added, is_new] =
      items_.try_emplace(item.id, Placed{.item = item, .rank = rank, .uses = uses});
  HR_CHECK(is_new);
  Insert(added->second);
}

RankedItems::Placed& RankedItems::At(ItemId id) {
  const auto found = items_.find(id);
  HR_CHECK(found != items_.end());
  return found->second;
}

void RankedItems::Move(ItemId id, const Rank& rank) {
  Placed& placed = At(id);
  if (!placed.held) Take(placed);
  placed.rank = rank;
  if (!placed.held) Insert(placed);
}

void RankedItems::Erase(ItemId id) {
  const Placed& placed = At(id);
  if (!placed.held) Take(placed);
  items_.erase(id);
}

void RankedItems::Hold(ItemId id) {
  Placed& placed = At(id);
  if (placed.held) return;
  Take(placed);
  placed.held = true;
}

void RankedItems::Free(ItemId id) {
  Placed& placed = At(id);
  if (!placed.held) return;
  placed.held = false;
  Insert(placed);
}

std::vector<ItemId> RankedItems::Least(std::uint64_t bytes,
                                       std::optional<std::uint64_t> without_set) const {
  // Merges the sets. A set is opened when its first item is the least of what is not opened.
  struct Open {
    Line::const_iterator next, end;
    bool operator>(const Open& other) const { return *next > *other.next; }
  };
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  auto head = heads_.begin();
  std::vector<ItemId> least;
  for (std::uint64_t sum = 0; sum < bytes;) {
    while (head != heads_.end() && (open.empty() || head->first < *open.top().next)) {
      if (head->second != without_set) {
        const Line& line = sets_.at(head->second);
        open.push({line.begin(), line.end()});
      }
      ++head;
    }
    if (open.empty()) return {};
    Open from = open.top();
    open.pop();
    least.push_back(from.next->second);
    sum += items_.at(least.back()).item.bytes;
    if (++from.next != from.end) open.push(from);
  }
  return least;
}

}  // namespace headrace::eviction
