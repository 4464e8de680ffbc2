#pragma once

#include <vector>

#include "schemas/wire/control.h"

namespace headrace::wire {

// What a client says of its workers is bounded at both ends: one entry for each worker, at most 64 of
// them, those with the lowest numbers, and at most 400 bytes of each reason. Pure.
[[nodiscard]] std::vector<UnfitWorker> Bounded(std::vector<UnfitWorker> unfit);

}  // namespace headrace::wire
