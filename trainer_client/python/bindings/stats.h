#pragma once

#include <nanobind/nanobind.h>

#include "trainer_client/include/headrace/client.h"

namespace headrace::python {

// The statistics by name.
nanobind::dict StatsOf(const SessionStats& stats);
// The names of the metrics of a batch, and of the counters and gauges of a session.
void AddStats(nanobind::module_& module);

}  // namespace headrace::python
