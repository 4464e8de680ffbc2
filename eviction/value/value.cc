#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>

#include "eviction/core/past_uses.h"
#include "eviction/core/ranked_order.h"

namespace headrace::eviction {
namespace {

// What has the least value a byte goes first.
//
//   value = uses * cost_s
//   uses  = sum of (1/2)^(age / kHalfLife) over the jobs that asked for the item, those that found it
//           missing with them. The first one counts half: most of what was asked for once is never
//           asked for again
//   age   = caches full of bytes that were missing since then. Uses at one moment are equally old,
//           so the order in which a job reads its data is of no account
//
// A newcomer displaces items only if they are worth less than it together, and none of its own data
// set: under shuffled epochs all samples of a set are worth the same, and each that goes for
// another is a hit less (as MinIO has it). Otherwise it stays out, and is remembered: a set that is
// asked for again and again comes in. Of equal items the one that came last goes first, as if the
// cache had always been so small.
class Value final : public RankedOrder {
 public:
  explicit Value(std::uint64_t capacity)
      : capacity_(static_cast<double>(capacity > 0 ? capacity : 1)), past_(kHalfLife) {}

  void Admit(const Item& item, double now_s) override {
    See(now_s);
    const double uses = UsesOf(item);
    past_.Forget(item.id);
    items_.Add(item, RankOf(item, uses, Tick()), uses);
    missing_ += static_cast<double>(item.bytes);
  }
  void Refuse(const Item& item, double now_s) override {
    See(now_s);
    past_.Remember(item.id, UsesOf(item));
    missing_ += static_cast<double>(item.bytes);
  }
  void Hit(ItemId id, double now_s) override {
    See(now_s);
    RankedItems::Placed& placed = items_.At(id);
    placed.uses = past_.Sum(placed.uses, past_.Of(1, age_));
    Place(placed);
  }
  void Remove(ItemId id) override {
    past_.Remember(id, items_.At(id).uses);
    RankedOrder::Remove(id);
  }
  [[nodiscard]] std::vector<ItemId> Choose(const Item* newcomer, std::uint64_t bytes,
                                           double now_s) override {
    See(now_s);
    if (newcomer == nullptr) return WithoutSpare(items_.Least(bytes), bytes);
    std::vector<ItemId> chosen = WithoutSpare(items_.Least(bytes, newcomer->data_set), bytes);
    // In units of the newcomer's value a byte: values themselves are out of the range of numbers.
    const double worth = LogValue(*newcomer, UsesOf(*newcomer));
    double lost = 0;
    for (const ItemId id : chosen) {
      const RankedItems::Placed& placed = items_.At(id);
      lost += std::exp2(placed.rank.first - worth) * static_cast<double>(placed.item.bytes);
    }
    if (!(lost < static_cast<double>(newcomer->bytes))) chosen.clear();
    return chosen;
  }

 private:
  static constexpr double kHalfLife = 4;

  // Uses are logarithms: see PastUses.
  [[nodiscard]] double UsesOf(const Item& item) const {
    const std::optional<double> past = past_.Recall(item.id);
    return past ? past_.Sum(*past, past_.Of(item.visits, age_)) : past_.Of(item.visits - 0.5, age_);
  }
  // A byte; what costs nothing is worth least.
  static double LogValue(const Item& item, double uses) {
    return uses + std::log2(item.cost_s / static_cast<double>(item.bytes));
  }
  static Rank RankOf(const Item& item, double uses, std::uint64_t tick) {
    return {.first = LogValue(item, uses), .tick = ~tick};
  }
  void Place(const RankedItems::Placed& placed) {
    items_.Move(placed.item.id, RankOf(placed.item, placed.uses, ~placed.rank.tick));
  }
  // Time goes on between moments only.
  void See(double now_s) {
    if (now_s == now_s_) return;
    now_s_ = now_s;
    age_ = missing_ / capacity_;
  }
  // Keeps those that are not needed, the most valuable first.
  [[nodiscard]] std::vector<ItemId> WithoutSpare(std::vector<ItemId> chosen, std::uint64_t bytes) {
    std::uint64_t spare = 0;
    for (const ItemId id : chosen) spare += items_.At(id).item.bytes;
    spare -= chosen.empty() ? 0 : bytes;
    for (std::size_t i = chosen.size(); i-- > 0;) {
      const std::uint64_t its = items_.At(chosen[i]).item.bytes;
      if (its > spare) continue;
      spare -= its;
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return chosen;
  }

  const double capacity_;
  PastUses past_;
  double missing_ = 0;  // bytes
  double age_ = 0;      // of the cache at this moment, in caches full
  double now_s_ = 0;
};

}  // namespace

void RegisterEvictionValue(OrderRegistry& registry) {
  registry.Add({.name = "value",
                .summary = "least value a byte, from uses, age and cost, goes first",
                .refuses = true,
                .make = [](std::uint64_t capacity) { return std::make_unique<Value>(capacity); }});
}

}  // namespace headrace::eviction
