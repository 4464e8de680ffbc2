#include <memory>

#include "coordinator/policy/core/divide.h"

namespace headrace {
namespace coordinator {
namespace {

// Shortest job first: the order is the time that a job still takes at the full speed of its
// trainer. Where that is not known the job counts as the longest (it is served in order of arrival
// behind the others). Running jobs keep their GPUs.
class Sjf final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "sjf"; }
  [[nodiscard]] std::string_view summary() const override {
    return "shortest remaining time first, each job up to what it can use";
  }
  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    const auto order = Order(
        snapshot, [](const JobView& a, const JobView& b) { return Remaining(a) < Remaining(b); });
    return AllocateJointly(
        snapshot, order, preempts(),
        [&](const Snapshot& s, const std::vector<bool>& admitted, std::span<const double> hits) {
          Division division;
          division.rates = DivideInOrder(s, admitted, hits, order);
          division.objective = BusyGpus(s, division.rates);
          return division;
        });
  }

 private:
  // Seconds.
  static double Remaining(const JobView& job) {
    return job.terms.ready_rate > 0 ? job.remaining_samples / job.terms.ready_rate : kUnlimited;
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicySjf(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::Sjf>());
}

}  // namespace headrace
