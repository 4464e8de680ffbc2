#include <algorithm>
#include <memory>
#include <optional>

#include "eviction/core/ranked_order.h"

namespace headrace::eviction {
namespace {

// GreedyDual-Size-Frequency (Cherkasova, HP Labs 1998): an item's key is L + uses * cost / bytes, set
// when it comes and at each use. The least key goes first, and L becomes the key of what went last.
// So what is not used falls back against what comes. What has left is forgotten.
class Gdsf final : public RankedOrder {
 public:
  void Admit(const Item& item, double /*now_s*/) override {
    items_.Add(item, {.first = KeyOf(item, item.visits), .tick = Tick()}, item.visits);
  }
  void Hit(ItemId id, double /*now_s*/) override {
    RankedItems::Placed& placed = items_.At(id);
    placed.uses += 1;
    items_.Move(id, {.first = KeyOf(placed.item, placed.uses), .tick = Tick()});
  }
  [[nodiscard]] std::vector<ItemId> Choose(const Item* /*newcomer*/, std::uint64_t bytes,
                                           double /*now_s*/) override {
    std::vector<ItemId> chosen = items_.Least(bytes);
    if (!chosen.empty()) last_chosen_ = chosen.back();
    return chosen;
  }
  void Remove(ItemId id) override {
    if (id == last_chosen_) age_ = std::max(age_, items_.At(id).rank.first);
    RankedOrder::Remove(id);
  }

 private:
  [[nodiscard]] double KeyOf(const Item& item, double uses) const {
    return age_ + uses * item.cost_s / static_cast<double>(item.bytes);
  }
  double age_ = 0;  // L
  std::optional<ItemId> last_chosen_;
};

}  // namespace

void RegisterEvictionGdsf(OrderRegistry& registry) {
  registry.Add({.name = "gdsf",
                .summary = "least uses times cost per byte, with ageing, goes first",
                .make = [](std::uint64_t) { return std::make_unique<Gdsf>(); }});
}

}  // namespace headrace::eviction
