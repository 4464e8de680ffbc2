#include <memory>
#include <tuple>
#include <vector>

#include "coordinator/policy/core/policy.h"

namespace headrace {
namespace coordinator {
namespace {

// First come, first served.
//   1. In order of arrival each job takes one worker: an unused one if there is any, on its own
//   host
//      if possible, else the least used.
//   2. In order of arrival each job takes unused workers up to what it wants, its own host's first.
// So nobody starves, early jobs are served fully, and workers are shared only when they are fewer
// than jobs. Ties go to the lower id.
class Fifo final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "fifo"; }

  [[nodiscard]] LeaseSet Decide(const PolicySnapshot& snapshot) const override {
    LeaseSet leases;
    if (snapshot.workers.empty()) return leases;
    std::vector<int> uses(snapshot.workers.size(), 0);
    const auto take = [&](const JobDemand& job, std::size_t i) {
      leases[job.job].insert(snapshot.workers[i].worker);
      ++uses[i];
    };
    for (const JobDemand& job : snapshot.jobs) {
      const auto rank = [&](std::size_t i) {
        const WorkerSupply& worker = snapshot.workers[i];
        return std::tuple(uses[i] > 0, worker.host != job.host, uses[i], worker.worker);
      };
      std::size_t best = 0;
      for (std::size_t i = 1; i < snapshot.workers.size(); ++i) {
        if (rank(i) < rank(best)) best = i;
      }
      take(job, best);
    }
    for (const JobDemand& job : snapshot.jobs) {
      const std::size_t wanted = job.wanted_workers > 0
                                     ? static_cast<std::size_t>(job.wanted_workers)
                                     : snapshot.workers.size();
      for (const bool own_host : {true, false}) {
        for (std::size_t i = 0; i < snapshot.workers.size(); ++i) {
          if (leases[job.job].size() >= wanted) break;
          if (uses[i] == 0 && (snapshot.workers[i].host == job.host) == own_host) take(job, i);
        }
      }
    }
    return leases;
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicyFifo(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::Fifo>());
}

}  // namespace headrace
