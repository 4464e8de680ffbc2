#include "eviction/core/order.h"

namespace headrace::eviction {

// Generated from the component folders.
void RegisterEvictions(OrderRegistry& registry);

const OrderRegistry& BuiltinOrders() {
  static const OrderRegistry registry = [] {
    OrderRegistry made;
    RegisterEvictions(made);
    return made;
  }();
  return registry;
}

}  // namespace headrace::eviction
