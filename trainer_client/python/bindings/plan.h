#pragma once

#include <nanobind/nanobind.h>

#include <map>

#include "base/graph.h"
#include "base/ids.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::python {

struct PlanWithBlobs {
  Plan plan;
  std::map<BlobHash, Blob> blobs;
};

// Parses the dict that _client.pyi describes. ValueError: an unknown key, or a value of a wrong
// kind.
[[nodiscard]] PlanWithBlobs ParsePlan(nanobind::dict source);

// check_plan, exp_ranges, gaussian_weights.
void AddPlans(nanobind::module_& module);

}  // namespace headrace::python
