#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "dataworker/session/compiled_plan.h"
#include "dataworker/source/core/source.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Checks that the request fits the plan: lengths, positions, lane. It checks all that a peer can
// get wrong, except the slot.
[[nodiscard]] Status CheckRequest(const CompiledPlan& plan, const wire::BatchRequest& request);
// The positions to make, in order.
[[nodiscard]] std::vector<std::int32_t> PositionsOf(const wire::BatchRequest& request);
// How the witness of a position is asked for; nullopt: the trainer does not want it.
[[nodiscard]] std::optional<Ask> WitnessOf(const wire::BatchRequest& request,
                                           std::int32_t position);

}  // namespace headrace::dataworker
