#include "simulate/bound/job_need.h"

#include <algorithm>
#include <cmath>

#include "simulate/engine.h"

namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;
using coordinator::Terms;

// A step of a trainer's speed: from `from_s` seconds of running on.
struct Phase {
  double from_s = 0;
  double ready_rate = 0;  // samples/s that it takes
  double rate = 0;        // that the cluster can give it
};

std::vector<Phase> PhasesOf(const Job& job, double most_rate) {
  const double ready = job.terms().ready_rate;
  std::vector<Phase> phases = {{0, ready, std::min(ready, most_rate)}};
  for (const Ramp& ramp : job.ramp) {
    const double other = ready * ramp.factor;
    phases.push_back({ramp.from_s, other, std::min(other, most_rate)});
  }
  return phases;
}

}  // namespace

std::vector<JobNeed> NeedsOfJobs(const Trace& trace, const Cluster& cluster) {
  std::vector<int> readers(trace.datasets.size(), 0);
  for (const Job& job : trace.jobs) {
    if (job.dataset >= 0) ++readers[static_cast<std::size_t>(job.dataset)];
  }
  std::vector<JobNeed> needs;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const Job& job = trace.jobs[i];
    if (job.gpus > cluster.gpus) continue;
    const Terms terms = job.terms();
    const bool caches = job.dataset >= 0 && cluster.cache_bytes > 0;
    // Of work that stays on its host, the dearer cost is what the simulator counts.
    const double cost = !job.separable ? std::max(terms.miss_cost, terms.hit_cost)
                        : caches       ? std::min(terms.miss_cost, terms.hit_cost)
                                       : terms.miss_cost;
    const double cores = job.separable ? cluster.cores() : job.gpus * cluster.cpu_per_gpu;
    double most = cost > 0 ? cores / cost : kUnlimited;
    const bool reads = job.dataset >= 0 && std::isfinite(cluster.source_rate);
    if (reads && !caches && terms.miss_bytes > 0) {
      most = std::min(most, cluster.source_rate / terms.miss_bytes);
    }
    JobNeed need;
    need.job = i;
    need.arrival_s = job.arrival_s;
    const std::vector<Phase> phases = PhasesOf(job, most);
    double left = job.samples(), best = 0, slowest = kUnlimited;
    for (std::size_t k = 0; k < phases.size(); ++k) {
      best = std::max(best, phases[k].rate);
      slowest = std::min(slowest, phases[k].ready_rate);
      const double end = k + 1 < phases.size() ? phases[k + 1].from_s : kUnlimited;
      const double span = std::min(end - phases[k].from_s, left / phases[k].rate);
      need.least_s += span;
      left = std::max(0.0, left - span * phases[k].rate);
    }
    need.useful_gpu_s = job.gpus * job.samples() / slowest;
    need.full_s = job.samples() / best;
    need.shares[kOfGpus] = static_cast<double>(job.gpus) / cluster.gpus;
    need.shares[kOfCores] = best * cost / cluster.cores();
    need.shares[kOfCache] = kUnlimited;
    if (reads) {
      const auto d = static_cast<std::size_t>(job.dataset);
      // The engine's hit shares may be too high by its least drift (job_need.h: h + kLeastDrift).
      constexpr double kPart = 1 - kLeastDrift;
      const bool alone = readers[d] == 1;
      if (!caches) need.shares[kOfSource] = best * terms.miss_bytes / cluster.source_rate;
      if (caches && alone) {
        need.shares[kOfSource] = kPart * best * terms.miss_bytes / cluster.source_rate;
        need.shares[kOfCache] = kPart * trace.datasets[d].bytes / cluster.cache_bytes;
      }
    }
    needs.push_back(need);
  }
  return needs;
}

}  // namespace headrace::simulate
