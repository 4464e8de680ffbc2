#pragma once

#include <vector>

#include "coordinator/state/state.h"
#include "coordinator/state/update.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// What is done about an order of a person.
struct ClusterOutcome {
  wire::ClusterOrdered reply;
  std::vector<Update> updates;  // none: nothing changes
};

// Decides about `headrace drain` and `headrace jobs cancel|resume|priority`. Pure. What concerns a job concerns all
// ranks of its group. An order that already holds is no error. Errors of the reply:
//
//   kNotFound         no such job; one of the workers is none (then none is drained)
//   kInvalidArgument  an unknown action; no worker is named
[[nodiscard]] ClusterOutcome TakeOrder(const State& state, const wire::ClusterOrder& order);

}  // namespace headrace::coordinator
