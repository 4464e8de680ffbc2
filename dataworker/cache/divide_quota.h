#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::dataworker {

// Divides a job's quota over the tiers, fastest first: a tier gets no more than its budget, and the
// last one all that is left. Thus with one tier the quota is that tier's. Bytes.
[[nodiscard]] std::vector<std::uint64_t> DivideQuota(std::uint64_t quota,
                                                     std::span<const std::uint64_t> budgets);

}  // namespace headrace::dataworker
