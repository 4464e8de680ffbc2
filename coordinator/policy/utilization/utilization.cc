#include <memory>

#include "coordinator/policy/core/index.h"

namespace headrace {
namespace coordinator {
namespace {

// Keeps the most GPUs computing over time. Cores and the source go to jobs by what they make of them
// (DivideByWorth), above a floor of half a fair share. GPUs are given in order of arrival. Preferring jobs
// whose cores are still free was tried in the simulator. It keeps fewer GPUs busy in the end, when only
// jobs that need many cores are left.
class Utilization final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "utilization"; }
  [[nodiscard]] std::string_view summary() const override {
    return "most GPUs computing: cores and bandwidth go where they free the most GPU time";
  }
  [[nodiscard]] std::string_view preference() const override {
    return "its GPUs make more of each core, for what they have left to do";
  }
  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    const auto arrival = Order(
        snapshot, [](const JobView& a, const JobView& b) { return a.arrival_s < b.arrival_s; });
    return AllocateJointly(snapshot, arrival, preempts(), DivideByWorth);
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicyUtilization(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::Utilization>());
}

}  // namespace headrace
