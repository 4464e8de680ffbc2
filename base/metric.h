#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/export.h"
#include "base/metrics.h"

namespace headrace {

enum class MetricUnit : std::uint8_t {
  kCount,        // of what the name says
  kNanoseconds,  // shown in seconds
  kSeconds,
  kBytes,
  kMillicores,  // shown in cores
  kShare,       // 0 to 1
  kPerSecond,   // of what the name says
};
enum class MetricKind : std::uint8_t { kCounter, kGauge };

// A row of the table, without its value. A struct that has the numbers of a list describes them
// with EachMetric(visit): it calls visit(Metric, pointer to member) for each, in the table's order.
struct Metric {
  std::string_view name;
  MetricUnit unit = MetricUnit::kCount;
  MetricKind kind = MetricKind::kCounter;
  std::string_view column;  // heading in `headrace top`; empty: none
  std::string_view help;
};

// The name and the value in the unit that people see: stall_ns is stall_seconds.
HEADRACE_PUBLIC [[nodiscard]] std::string ShownName(const Metric& metric);
HEADRACE_PUBLIC [[nodiscard]] double ShownValue(const Metric& metric, double value);
// "seconds", "bytes"; empty where the name says what it is.
HEADRACE_PUBLIC [[nodiscard]] std::string_view ShownUnit(const Metric& metric);

namespace metric_types {
using u64 = std::uint64_t;
using u32 = std::uint32_t;
using f64 = double;
}  // namespace metric_types

}  // namespace headrace

// For the lists of base/metrics.h: the member of a row, and the call of `visit` for it in a struct
// Self. The rows of a batch have forms of their own, for one batch and for a total.
#define HEADRACE_METRIC_MEMBER(type, name, ...) ::headrace::metric_types::type name = 0;
#define HEADRACE_METRIC_TOTAL(type, name, ...) std::uint64_t name = 0;
#define HEADRACE_METRIC_VISIT(type, name, id, unit, kind, column, help)                       \
  visit(::headrace::Metric{#name, ::headrace::MetricUnit::unit, ::headrace::MetricKind::kind, \
                           column, help},                                                     \
        &Self::name);
#define HEADRACE_METRIC_VISIT_OF_BATCH(type, name, id, total, unit, column, help) \
  HEADRACE_METRIC_VISIT(type, name, id, unit, kCounter, column, help)
