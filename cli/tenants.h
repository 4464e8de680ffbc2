#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coordinator/policy/core/policy.h"

namespace headrace::cli {

// Parses the tenants of a coordinator: {"tenants": [{"name": "vision", "weight": 2, "cores": 16,
// "cache_bytes": 1e11, "source_bytes_per_second": 5e8, "trainers": 8}, ...]}. Every key except the
// name may be left out: weight 1, no quota. The tenant "default" is for jobs that name none.
// kInvalidArgument says what is wrong, and for which tenant.
[[nodiscard]] Result<std::vector<coordinator::Tenant>> ParseTenants(std::string_view json);
// Reads them from a file. kNotFound, kUnavailable: no such file, or not readable.
[[nodiscard]] Result<std::vector<coordinator::Tenant>> ReadTenants(const std::string& path);

}  // namespace headrace::cli
