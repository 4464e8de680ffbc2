#pragma once

#include <span>
#include <vector>

#include "coordinator/policy/core/fair_share.h"
#include "coordinator/policy/core/policy.h"

namespace headrace::coordinator {

// Writes Grant::why from the division that the grants follow from. All jobs of the snapshot are admitted;
// `grants` has their cores. O(jobs + tenants).
void Explain(const Snapshot& admitted, std::span<const double> hits, const Division& division,
             std::vector<Grant>& grants);

}  // namespace headrace::coordinator
