#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Which items a full cache gives up first, and whether a new one is worth it. An item is what the
// cache keeps or gives up as one: a chunk of a worker's cache, an object of a simulated one.
namespace headrace::eviction {

using ItemId = std::uint64_t;

struct Item {
  ItemId id = 0;
  std::uint64_t bytes = 0;     // > 0
  double cost_s = 0;           // seconds that it takes to make again
  std::uint64_t data_set = 0;  // of its samples; any number that tells data sets apart
  double visits = 1;           // how many jobs have asked for it since the order last heard of it
};

// The order of one cache. It is told what happens there, and asked what goes. It reads no clock, no
// random numbers and no file: the same events give the same answers. Each call costs O(log n) of n
// items, and Choose that for each item that it looks at. One thread.
class EvictionOrder {
 public:
  virtual ~EvictionOrder() = default;

  // The item was asked for, was not there, and comes into the cache. `now_s`: seconds on any clock
  // that does not go back; events of one job's begin, or end, have one time. REQUIRES: it is not there.
  virtual void Admit(const Item& item, double now_s) = 0;
  // The item was asked for, and is not taken. Orders that remember what they don't have count it.
  virtual void Refuse(const Item& /*item*/, double /*now_s*/) {}
  // The item was asked for by another job, and is there. REQUIRES: it is there.
  virtual void Hit(ItemId id, double now_s) = 0;
  // The item has left the cache, for whatever reason. REQUIRES: it is there.
  virtual void Remove(ItemId id) = 0;
  // A held item is never named by Choose. REQUIRES: the item is there. Idempotent.
  virtual void Hold(ItemId id) = 0;
  virtual void Free(ItemId id) = 0;

  // Names items of `bytes` or more together, those first that go first; without the last of them it
  // would be less. The caller removes them all, or none and asks again. Orders look at no more items than they would name if
  // they never refused. Empty: there are not enough that are not held, or
  // the newcomer is worth less than what it would displace. `newcomer`: the item that needs the
  // room, as Admit would get it; null: the cache becomes smaller. REQUIRES: bytes > 0.
  [[nodiscard]] virtual std::vector<ItemId> Choose(const Item* newcomer, std::uint64_t bytes,
                                                   double now_s) = 0;
};

// What an order's folder says of it.
struct OrderDescriptor {
  std::string name;
  std::string summary;   // a phrase, for --help
  bool refuses = false;  // newcomers too, and not only for want of items that are not held
  // `capacity`: bytes of the cache; the scale of what is long ago.
  std::function<std::unique_ptr<EvictionOrder>(std::uint64_t capacity)> make;
};

// The orders of this build by name. Thread-compatible; immutable once filled.
class OrderRegistry {
 public:
  // REQUIRES: no other of that name.
  void Add(OrderDescriptor order);
  // nullptr if there is no such order.
  [[nodiscard]] const OrderDescriptor* Find(std::string_view name) const;
  // In the order of their names.
  [[nodiscard]] std::vector<const OrderDescriptor*> All() const;

 private:
  std::map<std::string, OrderDescriptor, std::less<>> orders_;
};

// All orders of this build.
[[nodiscard]] const OrderRegistry& BuiltinOrders();
// "value": the order of a worker that is told none.
inline constexpr std::string_view kDefaultOrder = "value";

}  // namespace headrace::eviction
