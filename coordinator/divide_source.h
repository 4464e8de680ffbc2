#pragma once

#include <optional>
#include <span>
#include <vector>

#include "coordinator/state/state.h"

// What a job may read a second is one figure, and each of its workers keeps to a part of it. A batch may
// go to any worker, and what it must read there depends on what is cached. So the parts follow what the
// workers read of late.
namespace headrace::coordinator {

// Divides `total` bytes/s among a job's workers. `uses`: of each; nullopt: not known yet.
//
//   - The parts add up to `total`.
//   - Each is at least a tenth of an equal part, so that a worker can show its need.
//   - A worker that was not held back keeps what it read and a quarter more.
//   - Those that were held back, or are not known, have equal parts of the rest.
//   - What is left when nobody was held back is divided equally.
//
// Pure.
[[nodiscard]] std::vector<double> DivideSource(double total,
                                               std::span<const std::optional<SourceUse>> uses);

// The parts that should hold, given those that do. These stay while each differs by less than a tenth,
// and all together by less than a fiftieth: who is told nothing costs nothing. Pure.
[[nodiscard]] std::vector<double> SteadyParts(std::vector<double> wanted,
                                              std::span<const double> held);

}  // namespace headrace::coordinator
