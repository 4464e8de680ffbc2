#pragma once

#include <string>

#include "schemas/wire/control.h"

namespace headrace::web {

// The state of a cluster in Prometheus' text format, version 0.0.4, with the metrics of
// base/metrics.h and an `_info` line for each job and worker. Pure.
//
// A name is headrace_OWNER_NAME, in the base unit (seconds, bytes, cores); counters end with _total.
// The owner is what the numbers are of: nothing for the cluster itself, job, session (a loader of a
// job), worker, worker_job (a job on a worker), dataset, pool. Labels are the ids. A loader that has ended has
// no lines any more. Source:
// https://prometheus.io/docs/instrumenting/exposition_formats/
[[nodiscard]] std::string MetricsText(const wire::ClusterStatus& now);

// The same of one worker: the lines that it has in the whole text.
[[nodiscard]] std::string WorkerMetricsText(const wire::WorkerStatus& worker);

// docs/reference/metrics.md: every metric with its name, unit, kind, owner and help.
[[nodiscard]] std::string MetricsPage();

}  // namespace headrace::web
