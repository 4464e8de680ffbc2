#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/state/state.h"

// From what a policy gives of the source to limits of workers. Their sum never exceeds what there is.
// What a job may read a second is one figure, and each of its workers keeps to a part of it. A batch may
// go to any worker, and what it must read there depends on what is cached. So the parts follow what the
// workers read of late. All functions are pure.
namespace headrace::coordinator {

// Makes those of the rates for which `counts` smaller, in proportion, where their sum exceeds `most`,
// bytes/s. What jobs may read to show their need comes on top of what the policy divided, so the others
// give a part for it.
void FitSource(std::span<double> rates, double most,
               const std::function<bool(std::size_t)>& counts);

// The rate that one reader should have that reads `need` bytes/s on average, in reads of `read_bytes` that
// come by chance, bytes/s: at least a quarter more. Reads that come while others are paid for wait 50 ms on
// average (an M/D/1 queue). Few samples that are not cached need far more than their mean: whole batches wait
// for each of them.
[[nodiscard]] double RateWithRoom(double need, double read_bytes);

// Divides `total` bytes/s among a job's workers. `uses`: of each; nullopt: not known yet. `read_bytes`: of one
// of the job's reads, on average.
//
//   - The parts add up to `total`.
//   - Each is at least a tenth of an equal part, so that a worker can show its need.
//   - A worker that was not held back keeps what it read of late, with room.
//   - Those that were held back, or are not known, have equal parts of the rest.
//   - What is left when nobody was held back is divided equally.
[[nodiscard]] std::vector<double> DivideSource(double total,
                                               std::span<const std::optional<SourceUse>> uses,
                                               double read_bytes);

// The parts that should hold, given those that do. These stay while each differs by less than a tenth,
// and all together are no more than wanted, and at most 2% less: who is told nothing costs nothing. New
// ones are 1% less than wanted, so that they hold while what is wanted wobbles.
[[nodiscard]] std::vector<double> SteadyParts(std::vector<double> wanted,
                                              std::span<const double> held);

}  // namespace headrace::coordinator
