#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "eviction/core/order.h"

namespace headrace::eviction {
namespace {

// Between data sets as Quiver does it (Kumar and Sivathanu, FAST 2020): the set whose caching saves
// the least seconds a byte goes first, and gives way only to items of a set that saves more. Within
// a set what came last goes first, and only if the cache becomes smaller. Quiver measures the
// seconds in a probe of each job; here they are the mean of the set's items that came so far. Not
// here: hits that stand in for other samples, which would change what a program reads.
class Quiver final : public EvictionOrder {
 public:
  void Admit(const Item& item, double /*now_s*/) override {
    const auto [at, is_new] = items_.try_emplace(item.id, Place{.item = item, .tick = ++tick_});
    HR_CHECK(is_new);
    Change(item.data_set, [&](Set& set) {
      set.cost_s += item.cost_s;
      set.bytes += static_cast<double>(item.bytes);
      set.free.emplace(at->second.tick, item.id);
    });
  }
  void Hit(ItemId /*id*/, double /*now_s*/) override {}
  void Remove(ItemId id) override {
    Free(id);
    const Place place = items_.at(id);
    Change(place.item.data_set, [&](Set& set) { set.free.erase({place.tick, id}); });
    items_.erase(id);
  }
  void Hold(ItemId id) override {
    Place& place = items_.at(id);
    place.held = true;
    Change(place.item.data_set, [&](Set& set) { set.free.erase({place.tick, id}); });
  }
  void Free(ItemId id) override {
    Place& place = items_.at(id);
    place.held = false;
    Change(place.item.data_set, [&](Set& set) { set.free.emplace(place.tick, id); });
  }
  [[nodiscard]] std::vector<ItemId> Choose(const Item* newcomer, std::uint64_t bytes,
                                           double /*now_s*/) override {
    double most = 0;  // benefit of the newcomer's set
    if (newcomer != nullptr) {
      const auto set = sets_.find(newcomer->data_set);
      most = set != sets_.end() ? set->second.Benefit()
                                : newcomer->cost_s / static_cast<double>(newcomer->bytes);
    }
    std::vector<ItemId> chosen;
    std::uint64_t sum = 0;
    for (const auto& [benefit, data_set] : order_) {
      if (newcomer != nullptr && benefit >= most) return {};
      if (newcomer != nullptr && data_set == newcomer->data_set) continue;
      const auto& free = sets_.at(data_set).free;
      for (auto at = free.rbegin(); at != free.rend(); ++at) {
        chosen.push_back(at->second);
        sum += items_.at(at->second).item.bytes;
        if (sum >= bytes) return chosen;
      }
    }
    return {};
  }

 private:
  struct Place {
    Item item;
    std::uint64_t tick = 0;
    bool held = false;
  };
  struct Set {
    double cost_s = 0, bytes = 0;  // of all that came, also of what has left
    std::set<std::pair<std::uint64_t, ItemId>> free;
    [[nodiscard]] double Benefit() const { return cost_s / bytes; }
  };
  // Sets that have items to give up are in order_, by their benefit before and after the change.
  template <typename How>
  void Change(std::uint64_t data_set, How how) {
    Set& set = sets_[data_set];
    if (!set.free.empty()) order_.erase({set.Benefit(), data_set});
    how(set);
    if (!set.free.empty()) order_.emplace(set.Benefit(), data_set);
  }

  std::uint64_t tick_ = 0;
  std::unordered_map<ItemId, Place> items_;
  std::map<std::uint64_t, Set> sets_;
  std::set<std::pair<double, std::uint64_t>> order_;
};

}  // namespace

void RegisterEvictionQuiver(OrderRegistry& registry) {
  registry.Add({.name = "quiver",
                .summary = "data sets that save the least seconds a byte go first (Quiver)",
                .refuses = true,
                .make = [](std::uint64_t) { return std::make_unique<Quiver>(); }});
}

}  // namespace headrace::eviction
