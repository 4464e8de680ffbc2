#pragma once

#include <nanobind/nanobind.h>

#include "trainer_client/include/headrace/client.h"

namespace headrace::python {

// PickleBuffer, MissingSample, SampleNeeded, Batch.
void AddBatches(nanobind::module_& module);

// The Python form of an event: a Batch or a SampleNeeded.
[[nodiscard]] nanobind::object EventObject(Event event);

}  // namespace headrace::python
