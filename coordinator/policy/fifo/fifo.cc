#include <memory>

#include "coordinator/policy/core/divide.h"

namespace headrace {
namespace coordinator {
namespace {

// First come, first served: GPUs, cores and the source's bandwidth go to jobs in order of arrival.
// Each gets up to what it can use. Late jobs get kLeastShare while early ones need everything.
class Fifo final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "fifo"; }
  [[nodiscard]] std::string_view summary() const override {
    return "first come, first served, each job up to what it can use";
  }
  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    const auto order = Order(
        snapshot, [](const JobView& a, const JobView& b) { return a.arrival_s < b.arrival_s; });
    return AllocateJointly(snapshot, order, preempts(), InOrder);
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicyFifo(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::Fifo>());
}

}  // namespace headrace
