#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "coordinator/policy/core/divide.h"

namespace headrace {
namespace coordinator {
namespace {

// Most GPUs that compute (GoldMiner's aim). A job keeps gpus * rate / g of its GPUs busy, which is
// linear in its rate until it is satisfied, so cores (and the source) go first to the jobs that
// make the most of them: a fractional knapsack, greedy by
//
//   gpus / g / (cost * price of a core + bytes * price of a byte/s)
//
// With two scarce resources the prices are searched over a small grid. GPUs themselves are given in
// order of arrival: to prefer jobs whose cores are still to be had was tried in the simulator, and
// keeps fewer GPUs busy in the end, when only jobs that need many cores are left.
class Utilization final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "utilization"; }
  [[nodiscard]] std::string_view summary() const override {
    return "most GPUs computing: cores and bandwidth go where they free the most GPU time";
  }
  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    const auto arrival = Order(
        snapshot, [](const JobView& a, const JobView& b) { return a.arrival_s < b.arrival_s; });
    return AllocateJointly(snapshot, arrival, preempts(), Best);
  }

 private:
  static Division Best(const Snapshot& snapshot, std::span<const double> hits,
                       std::span<const std::size_t> /*arrival*/) {
    const double cores = std::max(snapshot.supply.cores, 1e-9);
    const double source = snapshot.supply.source_rate;
    constexpr std::array kCoresWeight = {1.0, 0.5, 0.0};
    Division best;
    for (const double weight : kCoresWeight) {
      if (std::isinf(source) && weight < 1) break;
      const double core_price = weight / cores;
      const double byte_price = weight < 1 ? (1 - weight) / std::max(source, 1e-9) : 0;
      std::vector<double> worth(snapshot.jobs.size());
      for (std::size_t i = 0; i < worth.size(); ++i) {
        const JobView& job = snapshot.jobs[i];
        const double price = CostPerSample(job.terms, hits[i]) * core_price +
                             SourceBytesPerSample(job.terms, hits[i]) * byte_price;
        const double busy = job.terms.ready_rate > 0 ? job.gpus / job.terms.ready_rate : 0;
        worth[i] = price > 0 ? busy / price : kUnlimited;
      }
      const auto order = Order(snapshot, [&](const JobView& a, const JobView& b) {
        return worth[static_cast<std::size_t>(&a - snapshot.jobs.data())] >
               worth[static_cast<std::size_t>(&b - snapshot.jobs.data())];
      });
      Division division = InOrder(snapshot, hits, order);
      if (best.rates.empty() || division.objective > best.objective * (1 + 1e-9)) {
        best = std::move(division);
      }
    }
    return best;
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicyUtilization(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::Utilization>());
}

}  // namespace headrace
