#include "eviction/core/order.h"

#include <utility>

#include "base/check.h"

namespace headrace::eviction {

void OrderRegistry::Add(OrderDescriptor order) {
  std::string name = order.name;
  HR_CHECK(orders_.emplace(std::move(name), std::move(order)).second);
}

const OrderDescriptor* OrderRegistry::Find(std::string_view name) const {
  const auto found = orders_.find(name);
  return found == orders_.end() ? nullptr : &found->second;
}

std::vector<const OrderDescriptor*> OrderRegistry::All() const {
  std::vector<const OrderDescriptor*> all;
  for (const auto& [name, order] : orders_) all.push_back(&order);
  return all;
}

}  // namespace headrace::eviction
