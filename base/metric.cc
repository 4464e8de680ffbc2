#include "base/metric.h"

namespace headrace {

std::string ShownName(const Metric& metric) {
  constexpr std::string_view kNs = "_ns", kMilli = "_millicores";
  const std::string name(metric.name);
  switch (metric.unit) {
    case MetricUnit::kNanoseconds:
      return name.substr(0, name.size() - kNs.size()) + "_seconds";
    case MetricUnit::kMillicores:
      return name.substr(0, name.size() - kMilli.size()) + "_cores";
    case MetricUnit::kCount:
    case MetricUnit::kSeconds:
    case MetricUnit::kBytes:
    case MetricUnit::kShare:
    case MetricUnit::kPerSecond:
      break;
  }
  return name;
}

double ShownValue(const Metric& metric, double value) {
  switch (metric.unit) {
    case MetricUnit::kNanoseconds:
      return value / 1e9;  // 3 ns is 3e-09, and not 3.0000000000000004e-09
    case MetricUnit::kMillicores:
      return value / 1000;
    case MetricUnit::kCount:
    case MetricUnit::kSeconds:
    case MetricUnit::kBytes:
    case MetricUnit::kShare:
    case MetricUnit::kPerSecond:
      break;
  }
  return value;
}

std::string_view ShownUnit(const Metric& metric) {
  switch (metric.unit) {
    case MetricUnit::kNanoseconds:
    case MetricUnit::kSeconds:
      return "seconds";
    case MetricUnit::kBytes:
      return "bytes";
    case MetricUnit::kMillicores:
      return "cores";
    case MetricUnit::kShare:
      return "0 to 1";
    case MetricUnit::kPerSecond:
      return "a second";
    case MetricUnit::kCount:
      break;
  }
  return "";
}

}  // namespace headrace
