#include "trainer_client/python/bindings/stats.h"

#include "schemas/wire/data.h"

namespace nb = nanobind;

namespace headrace::python {

nb::dict StatsOf(const SessionStats& stats) {
  nb::dict dict;
  SessionStats::EachMetric([&](const Metric& metric, auto member) {
    dict[nb::str(metric.name.data(), metric.name.size())] = stats.*member;
  });
  dict["idle_known"] = stats.idle_known;
  nb::dict by_worker;
  for (const auto& [worker, samples] : stats.samples_by_worker) {
    by_worker[nb::cast(worker)] = samples;
  }
  dict["samples_by_worker"] = by_worker;
  nb::dict by_tier;
  for (const auto& [name, hits] : stats.hits_by_tier) {
    nb::dict tier;
    tier["decoded"] = hits.decoded;
    tier["encoded"] = hits.encoded;
    by_tier[nb::str(name.c_str(), name.size())] = tier;
  }
  dict["hits_by_tier"] = by_tier;
  return dict;
}

void AddStats(nb::module_& module) {
  nb::list batch, counters, gauges;
  const auto name = [](const Metric& metric) {
    return nb::str(metric.name.data(), metric.name.size());
  };
  wire::BatchCost::EachMetric([&](const Metric& metric, auto) { batch.append(name(metric)); });
  SessionStats::EachMetric([&](const Metric& metric, auto) {
    (metric.kind == MetricKind::kGauge ? gauges : counters).append(name(metric));
  });
  module.attr("batch_metrics") = nb::tuple(batch);
  module.attr("session_counters") = nb::tuple(counters);
  module.attr("session_gauges") = nb::tuple(gauges);
}

}  // namespace headrace::python
