#include "dataworker/cache/eviction_setting.h"

#include <string>

namespace headrace::dataworker {
namespace {

constexpr std::string_view kEviction = "eviction";

std::string OrderNames() {
  std::string names;
  for (const eviction::OrderDescriptor* order : eviction::BuiltinOrders().All()) {
    names += (names.empty() ? "" : ", ") + order->name;
  }
  return names;
}

}  // namespace

Setting EvictionSetting() {
  return {.name = std::string(kEviction),
          .kind = Setting::Kind::kText,
          .value = std::string(eviction::kDefaultOrder),
          .help = "which samples of ended jobs go first: " + OrderNames()};
}

Result<std::unique_ptr<eviction::EvictionOrder>> OrderOf(const Settings& settings,
                                                         std::uint64_t budget) {
  const std::string& name = settings.Text(kEviction);
  const eviction::OrderDescriptor* order = eviction::BuiltinOrders().Find(name);
  if (order == nullptr) {
    return NotFound("no eviction named " + name + "; this build has: " + OrderNames());
  }
  return order->make(budget);
}

std::unique_ptr<eviction::EvictionOrder> DefaultOrder(std::uint64_t budget) {
  return eviction::BuiltinOrders().Find(eviction::kDefaultOrder)->make(budget);
}

}  // namespace headrace::dataworker
