// What a job had and used since it began (JobMeter::totals).
#include <gtest/gtest.h>

#include <cmath>

#include "coordinator/scaling/job_meter.h"

namespace headrace::coordinator {
namespace {

std::uint64_t Billionths(double value) {
  return static_cast<std::uint64_t>(std::llround(value * 1e9));
}

// Adds `step` seconds of steps and `wait` seconds of waiting for native operators to what a session had.
void Grow(wire::SessionLoad& load, std::uint64_t hits, std::uint64_t misses, double step,
          double wait) {
  load.samples += hits + misses;
  load.hit_samples += hits;
  load.miss_samples += misses;
  load.step_ns += Billionths(step);
  load.stall_ns += Billionths(wait);
  load.wait_compute_ns += Billionths(wait);
}

TEST(JobTotals, AreOfAllSessionsSinceTheyBegan) {
  JobMeter meter;
  wire::SessionLoad first{.session = SessionId(7)}, second{.session = SessionId(8)};
  Grow(first, 100, 100, 0.5, 0.25);
  meter.Report({first});
  meter.ReportUsed(1.5);
  meter.EndPeriod(2, 3);
  // The coordinator may be younger than a session: what that had counts here, not in the period.
  Grow(second, 0, 1000, 20, 5);
  meter.Report({first, second});
  meter.EndPeriod(4);
  Grow(first, 100, 0, 0.5, 0);
  meter.Report({first});
  meter.Report({});  // all have ended
  const wire::JobTotals totals = meter.totals();
  EXPECT_EQ(totals.samples, 1300U);
  EXPECT_EQ(totals.hit_samples, 200U);
  EXPECT_EQ(totals.miss_samples, 1100U);
  EXPECT_EQ(totals.step_ns, Billionths(21));
  EXPECT_EQ(totals.stall_compute_ns, Billionths(5.25));
  EXPECT_EQ(totals.stall_source_ns, 0U);
  EXPECT_DOUBLE_EQ(totals.cpu_seconds, 1.5);
  EXPECT_DOUBLE_EQ(totals.granted_core_seconds, 10);
  EXPECT_DOUBLE_EQ(meter.received(), 300);
}

}  // namespace
}  // namespace headrace::coordinator
