#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/cluster_planner.h"
#include "coordinator/state/state.h"
#include "coordinator/state/update.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// What is done about an order of the operator.
struct OrderOutcome {
  wire::DatasetOrdered reply;
  std::vector<Update> updates;  // none: nothing changes
};

// Decides about `headrace datasets warm|pin|unpin|drop`. Pure. Errors of the reply:
//
//   kNotFound           no data set has that name
//   kInvalidArgument    several have it (the message has their numbers); an unknown action; a pinned one
//                       is not dropped; nothing is known of its size
//   kUnavailable        warm: no job reads it, and workers get its list of samples from jobs
//   kResourceExhausted  pin: more than the tenant's quota or the caches of all workers; too many are pinned
[[nodiscard]] OrderOutcome TakeOrder(const PlanRules& rules, const State& state,
                                     const wire::DatasetOrder& order, std::int64_t wall_ms);

// The hash of a data set as people see and name it: 16 hex digits.
[[nodiscard]] std::string DatasetNumber(std::uint64_t dataset);

}  // namespace headrace::coordinator
