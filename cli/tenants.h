#pragma once

#include <map>
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
// Parses what each data set may take of the caches, of the same file: {"tenants": [...], "datasets":
// {"ImageFolder(/data/train)": {"cache_bytes": 1e11}, ...}}, by name. Errors as above.
[[nodiscard]] Result<std::map<std::string, double>> ParseDatasetBounds(std::string_view json);

struct TenantsFile {
  std::vector<coordinator::Tenant> tenants;
  std::map<std::string, double> dataset_bytes;
};
// Reads them from a file. kNotFound, kUnavailable: no such file, or not readable.
[[nodiscard]] Result<TenantsFile> ReadTenants(const std::string& path);

}  // namespace headrace::cli
