#include <cmath>
#include <memory>
#include <vector>

#include "coordinator/policy/core/index.h"

namespace headrace {
namespace coordinator {
namespace {

// Shortest job first, for GPUs. The order is the remaining time of a job with a share of the cores in
// proportion to its GPUs. At the speed of its trainer alone, a job that no cluster can feed would look
// short. A job whose remaining time is unknown counts as the longest: it comes after the others, in order
// of arrival. Running jobs keep their GPUs. Cores and the source are divided as under `utilization`
// (DivideByWorth), which counts the remaining work too. By the remaining time alone, jobs that no cluster
// can feed would have most of the cores.
class Sjf final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "sjf"; }
  [[nodiscard]] std::string_view summary() const override {
    return "GPUs by the shortest remaining time; cores and bandwidth as under utilization";
  }
  [[nodiscard]] std::string_view preference() const override {
    return "its GPUs make more of each core, for what they have left to do";
  }
  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    double gpus = snapshot.supply.gpus;
    if (std::isinf(gpus)) {
      gpus = 0;
      for (const JobView& job : snapshot.jobs) gpus += job.gpus;
    }
    const double cores_per_gpu = gpus > 0 ? snapshot.supply.cores / gpus : 0;
    std::vector<double> remaining;
    for (const JobView& job : snapshot.jobs) remaining.push_back(Remaining(job, cores_per_gpu));
    const auto order = Order(snapshot, [&](const JobView& a, const JobView& b) {
      return remaining[static_cast<std::size_t>(&a - snapshot.jobs.data())] <
             remaining[static_cast<std::size_t>(&b - snapshot.jobs.data())];
    });
    return AllocateJointly(snapshot, order, preempts(), DivideByWorth);
  }

 private:
  // Remaining seconds.
  static double Remaining(const JobView& job, double cores_per_gpu) {
    const double rate =
        Throughput(job.terms, cores_per_gpu * job.gpus, job.effective_hit, kUnlimited);
    return rate > 0 ? job.remaining_samples / rate : kUnlimited;
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicySjf(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::Sjf>());
}

}  // namespace headrace
