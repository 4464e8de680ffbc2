#pragma once

#include <nanobind/nanobind.h>

#include "trainer_client/include/headrace/client.h"

namespace headrace::python {

// The statistics by name; the names of `wait` begin with "wait_".
nanobind::dict StatsOf(const SessionStats& stats);

}  // namespace headrace::python
