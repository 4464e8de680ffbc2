#include <memory>
#include <vector>

#include "coordinator/policy/core/index.h"

namespace headrace {
namespace coordinator {
namespace {

// First come, first served: GPUs go to jobs in order of arrival, and so does what the floors leave of
// cores and bandwidth. Jobs that came at nearly the same time share it: one that came kTogether later
// counts e^kSharpness times less. The floor is the whole fair share: an order of arrival says nothing of
// what a core is worth to a job, so nobody should be slower for it than without sharing.
class Fifo final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "fifo"; }
  [[nodiscard]] std::string_view summary() const override {
    return "each job its fair share; what is left first come, first served";
  }
  [[nodiscard]] std::string_view preference() const override { return "it came first"; }
  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    const auto order = Order(
        snapshot, [](const JobView& a, const JobView& b) { return a.arrival_s < b.arrival_s; });
    return AllocateJointly(snapshot, order, preempts(), Earliest);
  }

 private:
  static constexpr double kTogether = 3600;  // seconds
  static constexpr double kFloor = 1;

  static Division Earliest(const Snapshot& snapshot, const HitShares& hits) {
    std::vector<double> index;
    index.reserve(snapshot.jobs.size());
    for (const JobView& job : snapshot.jobs) index.push_back(-job.arrival_s / kTogether);
    return DivideByIndex(snapshot, hits.now, index, kFloor);
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicyFifo(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::Fifo>());
}

}  // namespace headrace
