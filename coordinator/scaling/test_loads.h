#pragma once

#include <cstdint>

#include "coordinator/scaling/job_meter.h"

namespace headrace::coordinator {

// Reports `load` as what each of some periods measured, until they tell something to people.
inline void ReportPeriods(JobMeter& meter, const wire::SessionLoad& load, double granted_cores,
                          double limited_s = 0) {
  for (std::size_t period = 1; period <= RecentPeriods::kLeast; ++period) {
    wire::SessionLoad total = load;
    wire::SessionLoad::EachMetric(
        [&](const Metric&, auto member) { total.*member = load.*member * period; });
    meter.Report({total});
    meter.ReportLimited(limited_s);
    meter.EndPeriod(granted_cores);
  }
}

}  // namespace headrace::coordinator
