#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/graph.h"
#include "schemas/wire/control.h"

namespace headrace::wire {

// The most samples that one message names.
inline constexpr std::size_t kMostBadSamples = 64;

// What is said of bad samples is bounded at both ends: one entry for each sample, the newest 64 of them,
// and at most 400 bytes of each text. `samples`: the newest last. Pure.
[[nodiscard]] std::vector<BadSample> Bounded(std::vector<BadSample> samples);

// Identifies the files and rows that the plan reads: equal in each job that reads the same. 0: its code
// reads what it likes. O(bytes of the plan).
[[nodiscard]] std::uint64_t DataSetOf(const Plan& plan);

}  // namespace headrace::wire
