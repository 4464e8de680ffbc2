#pragma once

#include <nanobind/nanobind.h>

#include "trainer_client/include/headrace/client.h"

namespace headrace::python {

// PickleBuffer, MissingSample, SampleNeeded, Batch, Suspicion, StateChange.
void AddBatches(nanobind::module_& module);

// The Python form of an event: a Batch, a SampleNeeded, a Suspicion or a StateChange.
[[nodiscard]] nanobind::object EventObject(Event event);

}  // namespace headrace::python
