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

// The mean number of jobs that are there, over any time.
class Crowd {
 public:
  Crowd(const Trace& trace, const Outcome& outcome) {
    for (const JobOutcome& each : outcome.jobs) {
      changes_.push_back({trace.jobs[each.job].arrival_s, 1});
      changes_.push_back({each.finish_s, -1});
    }
    std::ranges::sort(changes_, {}, &Change::time_s);
    double there = 0, sum = 0;
    for (std::size_t k = 0; k < changes_.size(); ++k) {
      if (k > 0) sum += there * (changes_[k].time_s - changes_[k - 1].time_s);
      there += changes_[k].jobs;
      changes_[k].jobs = there;
      changes_[k].until = sum;
    }
  }
  [[nodiscard]] double Mean(double from, double to) const {
    return to > from ? (Until(to) - Until(from)) / (to - from) : 1;
  }

 private:
  struct Change {
    double time_s = 0;
    double jobs = 0;   // from then on
    double until = 0;  // job-seconds before
  };
  [[nodiscard]] double Until(double time) const {
    const auto after = std::ranges::upper_bound(changes_, time, {}, &Change::time_s);
    if (after == changes_.begin()) return 0;
    const Change& last = *(after - 1);
    return last.until + last.jobs * (time - last.time_s);
  }
  std::vector<Change> changes_;
};

void AddFinishTimes(const Trace& trace, const Cluster& cluster, const Outcome& outcome,
                    Summary& summary) {
  const Crowd crowd(trace, outcome);
  std::vector<double> ratios;
  double unfair = 0;
  for (const JobOutcome& each : outcome.jobs) {
    const Job& job = trace.jobs[each.job];
    const double alone =
        each.fairness * each.run_s;  // with the cores and the data of its GPUs' share
    const double turns = crowd.Mean(job.arrival_s, each.finish_s) * job.gpus / cluster.gpus;
    if (alone <= 0) continue;
    ratios.push_back((each.finish_s - job.arrival_s) / (alone * std::max(1.0, turns)));
    if (ratios.back() > 1 + 1e-6) ++unfair;
  }
  std::ranges::sort(ratios);
  summary.finish_time_median = Percentile(ratios, 0.5);
  summary.finish_time_p99 = Percentile(ratios, 0.99);
  if (!ratios.empty()) summary.finish_time_unfair = unfair / static_cast<double>(ratios.size());
}

// Useful GPU-seconds before `end`.
double UsefulUntil(const Outcome& outcome, double end) {
  double useful = 0;
  for (std::size_t i = 0; i < outcome.timeline.size(); ++i) {
    const TimelinePoint& point = outcome.timeline[i];
    const double next =
        i + 1 < outcome.timeline.size() ? outcome.timeline[i + 1].time_s : outcome.end_s;
    useful += point.useful_gpus * std::max(0.0, std::min(end, next) - point.time_s);
  }
  return useful;
}

void AddWindow(const Trace& trace, const Cluster& cluster, const Outcome& outcome,
               Summary& summary) {
  double first = coordinator::kUnlimited, last = -coordinator::kUnlimited;
  for (const JobOutcome& each : outcome.jobs) {
    first = std::min(first, trace.jobs[each.job].arrival_s);
    last = std::max(last, trace.jobs[each.job].arrival_s);
  }
  if (last <= first) return;
  double possible = 0;  // useful GPU-seconds until then, if no job ever waited
  for (const JobOutcome& each : outcome.jobs) {
    const Job& job = trace.jobs[each.job];
    possible += std::min(each.useful_gpu_s, job.gpus * (last - job.arrival_s));
  }
  const double useful = UsefulUntil(outcome, last);
  summary.gpu_util_window = useful / (cluster.gpus * (last - first));
  if (outcome.useful_gpu_s > 0) summary.backlog = (possible - useful) / outcome.useful_gpu_s;
}

}  // namespace

Bounds BoundsOf(const Trace& trace, const Cluster& cluster, const EngineOptions& options) {
  Cluster counted = cluster;
  if (options.fill) counted.source_rate = coordinator::kUnlimited;  // job_need.h says why
  const std::vector<JobNeed> needs = NeedsOfJobs(trace, counted);
  return {BoundCompletion(needs), BoundUtilization(needs, cluster.gpus)};
}

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
  std::vector<double> jct, fairness;
  double total = 0, wait = 0, x = 0, xx = 0;
  for (const JobOutcome& each : outcome.jobs) {
    const Job& job = trace.jobs[each.job];
    jct.push_back(each.finish_s - job.arrival_s);
    total += jct.back();
    wait += each.start_s - job.arrival_s;
    x += each.fairness;
    xx += each.fairness * each.fairness;
    fairness.push_back(each.fairness);
    summary.preemptions += each.preemptions;
  }
  std::sort(jct.begin(), jct.end());
  const auto n = static_cast<double>(jct.size());
  summary.avg_jct_s = total / n;
  summary.avg_wait_s = wait / n;
  summary.median_jct_s = Percentile(jct, 0.5);
  summary.p99_jct_s = Percentile(jct, 0.99);
  summary.makespan_s = outcome.end_s - outcome.first_arrival_s;
  std::ranges::sort(fairness);
  summary.fairness_min = fairness.front();
  summary.fairness_p1 = Percentile(fairness, 0.01);
  summary.fairness_p5 = Percentile(fairness, 0.05);
  summary.fairness_jain = xx > 0 ? x * x / (n * xx) : 0;
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  summary.gpu_util = share(outcome.useful_gpu_s, cluster.gpus * summary.makespan_s);
  summary.gpu_util_held = share(outcome.useful_gpu_s, outcome.held_gpu_s);
  AddFinishTimes(trace, cluster, outcome, summary);
  AddWindow(trace, cluster, outcome, summary);
  summary.cpu_util = share(outcome.core_s, cluster.cores() * summary.makespan_s);
  return summary;
}

}  // namespace headrace::simulate
