#include "cli/show_ended.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/show.h"
#include "cli/table.h"
#include "cli/text.h"

namespace headrace::cli {
namespace {

double Seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::string Percent(double part, double whole) {
  return whole > 0 ? Format("%.0f%%", 100 * part / whole) : "-";
}

}  // namespace

double StallSeconds(const wire::JobTotals& totals) {
  return Seconds(totals.stall_sampler_ns + totals.stall_source_ns + totals.stall_compute_ns +
                 totals.stall_python_ns + totals.stall_queue_ns + totals.stall_network_ns +
                 totals.stall_copy_ns);
}

std::string StallText(const wire::JobTotals& totals) {
  struct Cause {
    const char* name;
    std::uint64_t ns;
  };
  std::vector<Cause> causes = {
      {"sampler", totals.stall_sampler_ns}, {"source", totals.stall_source_ns},
      {"compute", totals.stall_compute_ns}, {"python", totals.stall_python_ns},
      {"queue", totals.stall_queue_ns},     {"network", totals.stall_network_ns},
      {"copy", totals.stall_copy_ns}};
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& a, const Cause& b) { return a.ns > b.ns; });
  const double all = StallSeconds(totals) + Seconds(totals.step_ns);
  std::string text = (all > 0 ? Percent(StallSeconds(totals), all) : "0%") + " of its time";
  for (const Cause& cause : causes) {
    if (all <= 0 || Seconds(cause.ns) < 0.005 * all) continue;
    text += std::string(text.ends_with("time") ? ": " : ", ") + cause.name + " " +
            Percent(Seconds(cause.ns), all);
  }
  return text;
}

std::string EndedTable(const wire::ClusterStatus& now) {
  if (now.ended.empty()) return "no job has ended\n";
  Table table({"JOB", "NAME", "HOST", "TENANT", "ENDED", "RAN", "END", "SAMPLES", "STALL", "CORE-H",
               "CPU-H"});
  for (const wire::EndedJob& job : now.ended) {
    const double stall = StallSeconds(job.totals);
    table.Add({std::to_string(job.job.value), Plain(job.name), Plain(job.hostname),
               job.tenant.empty() ? "default" : Plain(job.tenant),
               AgeText(now.wall_ms - job.ended_ms) + " ago", AgeText(job.ended_ms - job.opened_ms),
               Plain(job.end), std::to_string(job.totals.samples),
               Percent(stall, stall + Seconds(job.totals.step_ns)),
               Format("%.2f", job.totals.granted_core_seconds / 3600),
               Format("%.2f", job.totals.cpu_seconds / 3600)});
  }
  return table.Text();
}

}  // namespace headrace::cli
