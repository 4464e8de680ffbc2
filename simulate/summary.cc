#include "simulate/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headrace::simulate {
namespace {

// Interpolates linearly between the two nearest ranks. REQUIRES: sorted.
double Percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary Summarise(const Trace& trace, const Cluster& cluster, const Outcome& outcome) {
  Summary summary;
  summary.jobs_done = outcome.jobs.size();
  summary.jobs_refused = outcome.refused.size();
  summary.decisions = outcome.decisions;
  summary.remote_bytes = outcome.remote_bytes;
  if (outcome.hit_bytes > 0) {
    summary.cache_hit = outcome.hit_bytes / (outcome.hit_bytes + outcome.remote_bytes);
  }
  if (outcome.jobs.empty()) return summary;
  std::vector<double> jct;
  double total = 0, wait = 0, x = 0, xx = 0;
  double least = coordinator::kUnlimited;
  for (const JobOutcome& each : outcome.jobs) {
    const Job& job = trace.jobs[each.job];
    jct.push_back(each.finish_s - job.arrival_s);
    total += jct.back();
    wait += each.start_s - job.arrival_s;
    x += each.fairness;
    xx += each.fairness * each.fairness;
    least = std::min(least, each.fairness);
    summary.preemptions += each.preemptions;
  }
  std::sort(jct.begin(), jct.end());
  const auto n = static_cast<double>(jct.size());
  summary.avg_jct_s = total / n;
  summary.avg_wait_s = wait / n;
  summary.median_jct_s = Percentile(jct, 0.5);
  summary.p99_jct_s = Percentile(jct, 0.99);
  summary.makespan_s = outcome.end_s - outcome.first_arrival_s;
  summary.fairness_min = least;
  summary.fairness_jain = xx > 0 ? x * x / (n * xx) : 0;
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  summary.gpu_util = share(outcome.useful_gpu_s, cluster.gpus * summary.makespan_s);
  summary.gpu_util_held = share(outcome.useful_gpu_s, outcome.held_gpu_s);
  summary.cpu_util = share(outcome.core_s, cluster.cores() * summary.makespan_s);
  return summary;
}

}  // namespace headrace::simulate
