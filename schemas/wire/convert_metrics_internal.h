#pragma once

#include "base/metrics.h"

// Rows of the table of metrics, from a struct `v` to the builder `table`, and from a FlatBuffers
// table `v` to a struct `out` with the Reader `r`.
#define HEADRACE_WRITE_METRIC(type, name, ...) table.add_##name(v.name);
#define HEADRACE_READ_METRIC(type, name, ...) out.name = r.NotNegative(v.name(), #name);
