#pragma once

#include <nlohmann/json_fwd.hpp>

#include "schemas/wire/control.h"

// The objects that the JSON of `headrace jobs|workers|cache|datasets` and of the page's /api/status consist
// of. Pure.
namespace headrace::cli {

// The cluster's own numbers, without its jobs, workers and data sets.
[[nodiscard]] nlohmann::ordered_json ClusterObject(const wire::ClusterStatus& now);
[[nodiscard]] nlohmann::ordered_json JobObject(const wire::JobStatus& job);
[[nodiscard]] nlohmann::ordered_json WorkerObject(const wire::WorkerStatus& worker);
[[nodiscard]] nlohmann::ordered_json DatasetObject(const wire::DatasetStatus& dataset);
[[nodiscard]] nlohmann::ordered_json PoolObject(const wire::PoolStatus& pool);

}  // namespace headrace::cli
