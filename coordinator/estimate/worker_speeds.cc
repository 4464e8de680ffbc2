#include "coordinator/estimate/worker_speeds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace headrace::coordinator {
namespace {

// Evidence that is worth less was forgotten, CPU seconds.
constexpr double kForgottenS = 1e-3;

}  // namespace

void WorkerSpeeds::Report(WorkerId worker, JobId job, const CostReport& report) {
  const double samples = report.misses + report.hits * report.hit_worth;
  if (!(report.cpu_s > 0) || !(samples > 0) || !std::isfinite(report.cpu_s + samples)) return;
  std::vector<Evidence>& known = workers_[worker].of_jobs;
  auto at = std::ranges::find(known, job, &Evidence::job);
  if (at == known.end()) at = known.insert(at, {job});
  at->cpu_s += report.cpu_s;
  at->samples += samples;
}

void WorkerSpeeds::Learn(double seconds) {
  const double kept = std::exp2(-seconds / kHalfLifeS);
  // Of each job: CPU seconds in mean cores, and samples. `of` is in the order of the evidence.
  struct Cost {
    double mean_s = 0, samples = 0;
  };
  std::vector<Cost> costs;
  std::vector<std::size_t> of;
  std::unordered_map<JobId, std::size_t> numbers;
  for (auto& [id, worker] : workers_) {
    worker.prior_s = std::max(kAlwaysS, worker.prior_s * kept);
    for (Evidence& each : worker.of_jobs) {
      each.cpu_s *= kept;
      each.samples *= kept;
    }
    std::erase_if(worker.of_jobs, [](const Evidence& each) { return each.cpu_s < kForgottenS; });
    for (const Evidence& each : worker.of_jobs) {
      const auto [number, is_new] = numbers.try_emplace(each.job, costs.size());
      if (is_new) costs.emplace_back();
      costs[number->second].samples += each.samples;
      of.push_back(number->second);
    }
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Cost& cost : costs) cost.mean_s = 0;
    std::size_t k = 0;
    for (const auto& [id, worker] : workers_) {
      for (const Evidence& each : worker.of_jobs) {
        costs[of[k++]].mean_s += each.cpu_s * worker.learned;
      }
    }
    k = 0;
    for (auto& [id, worker] : workers_) {
      double mean_s = worker.prior_s, own_s = worker.prior_s;
      for (const Evidence& each : worker.of_jobs) {
        const Cost& cost = costs[of[k++]];
        mean_s += each.samples * cost.mean_s / cost.samples;
        own_s += each.cpu_s;
      }
      worker.learned = std::clamp(mean_s / own_s, kLeast, kMost);
    }
  }
  for (auto& [id, worker] : workers_) {
    if (std::abs(worker.learned / worker.used - 1) > kStep) worker.used = worker.learned;
  }
}

void WorkerSpeeds::Forget(JobId job) {
  for (auto& [id, worker] : workers_) {
    std::erase_if(worker.of_jobs, [&](const Evidence& each) { return each.job == job; });
  }
}

double WorkerSpeeds::Learned(WorkerId worker) const {
  const auto known = workers_.find(worker);
  return known == workers_.end() ? 1 : known->second.learned;
}

double WorkerSpeeds::Of(WorkerId worker) const {
  const auto known = workers_.find(worker);
  return known == workers_.end() ? 1 : known->second.used;
}

}  // namespace headrace::coordinator
