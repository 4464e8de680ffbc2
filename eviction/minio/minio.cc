#include <memory>

#include "eviction/core/ranked_order.h"

namespace headrace::eviction {
namespace {

// What is in stays in, and a newcomer without room stays out: under shuffled epochs each epoch then
// hits just what the cache holds (MinIO of CoorDL: Mohan et al., VLDB 2021). A cache that becomes
// smaller loses what came last, as if it had always been so small.
class Minio final : public RankedOrder {
 public:
  void Admit(const Item& item, double /*now_s*/) override {
    items_.Add(item, {.first = -static_cast<double>(Tick())});
  }
  void Hit(ItemId /*id*/, double /*now_s*/) override {}
  [[nodiscard]] std::vector<ItemId> Choose(const Item* newcomer, std::uint64_t bytes,
                                           double /*now_s*/) override {
    if (newcomer != nullptr) return {};
    return items_.Least(bytes);
  }
};

}  // namespace

void RegisterEvictionMinio(OrderRegistry& registry) {
  registry.Add({.name = "minio",
                .summary = "what is in stays in (CoorDL)",
                .refuses = true,
                .make = [](std::uint64_t) { return std::make_unique<Minio>(); }});
}

}  // namespace headrace::eviction
