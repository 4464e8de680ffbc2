#pragma once

#include "base/metrics.h"

// Rows of the table of metrics as FlatBuffers fields: METRIC is for all lists, METRIC_TOTAL is for
// what is added up over batches. Only *.fbs.in use it.
#define METRIC_TYPE_u64 ulong
#define METRIC_TYPE_u32 uint
#define METRIC_TYPE_f64 double
// clang-format off
#define METRIC(type, name, number, ...) name: METRIC_TYPE_##type (id: number);
#define METRIC_TOTAL(type, name, number, total, ...) name: ulong (id: total);
