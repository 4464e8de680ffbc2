#include "simulate/eviction/experiment.h"

#include <cstdio>
#include <limits>

#include "eviction/core/model_cache.h"
#include "simulate/eviction/offline_bound.h"

namespace headrace::simulate {
namespace {

// Between the begins of two jobs. DLCache's orders that know ages read the clock of the process that
// simulates, in which a job takes some 100 µs. So their ages are next to nothing, and only tell
// which of two equal counts is older. Here jobs are equally far apart.
constexpr double kJob_s = 1e-4;

}  // namespace

double PreparationSeconds(const ObjectSets& sets, const Schedule& schedule, std::uint64_t capacity,
                          const eviction::OrderDescriptor& order, Refused refused) {
  eviction::ModelCache cache(capacity, order.make(capacity));
  double seconds = 0, now_s = 0;
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t guest = kNone;  // an object that was refused, and is in use or was the last to be
  const auto guest_bytes = [&] { return guest == kNone ? 0 : sets.objects[guest].bytes; };
  for (const std::vector<Asked>& job : schedule) {
    now_s += kJob_s;
    if (refused == Refused::kPasses) guest = kNone;
    for (const Asked& asked : job) {
      const eviction::Item& object = sets.objects[asked.object];
      for (int i = 0; i < asked.times; ++i) {
        const bool is_guest = guest == asked.object;
        if (!is_guest && refused == Refused::kPasses) guest = kNone;
        if (!cache.Has(object.id)) {
          if (!is_guest) seconds += object.cost_s;
          if (is_guest || cache.used() + guest_bytes() + object.bytes > capacity) guest = kNone;
          if (guest == kNone) (void)cache.Resize(capacity, now_s);
        }
        cache.Ask(object, now_s);
        if (cache.Has(object.id)) continue;
        guest = asked.object;
        if (refused == Refused::kTakesRoom) (void)cache.Resize(capacity - object.bytes, now_s);
      }
    }
  }
  return seconds;
}

double LeastPreparationSeconds(const ObjectSets& sets, const Schedule& schedule,
                               std::uint64_t capacity) {
  std::vector<std::size_t> asked;
  for (const std::vector<Asked>& job : schedule) {
    for (const Asked& each : job) asked.push_back(each.object);
  }
  return OfflineBound(sets.objects, asked, capacity);
}

std::string EvictionTable(const ObjectSets& sets, int every) {
  const auto orders = eviction::BuiltinOrders().All();
  std::string table = "capacity_gb,reuse,share,window";
  for (const eviction::OrderDescriptor* order : orders) {
    table += "," + order->name;
    if (order->refuses) table += "," + order->name + "_passing";
  }
  table += ",bound\n";
  ScheduleMaker maker(sets);
  int run = 0;
  const auto number = [&](double value) {
    char text[32];
    std::snprintf(text, sizeof text, ",%.9g", value);
    table += text;
  };
  for (const EvictionCell& cell : EvictionCells()) {
    for (int i = 0; i < kRunsOfCell; ++i, ++run) {
      const Schedule schedule = maker.Next(cell);
      if (run % every != 0) continue;
      table += std::to_string(cell.capacity / 1'000'000'000) + "," + std::to_string(cell.reuse) +
               "," + std::to_string(cell.share) + "," + std::to_string(cell.window);
      for (const eviction::OrderDescriptor* order : orders) {
        number(PreparationSeconds(sets, schedule, cell.capacity, *order, Refused::kTakesRoom));
        if (!order->refuses) continue;
        number(PreparationSeconds(sets, schedule, cell.capacity, *order, Refused::kPasses));
      }
      number(LeastPreparationSeconds(sets, schedule, cell.capacity));
      table += "\n";
    }
  }
  return table;
}

}  // namespace headrace::simulate
