#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "coordinator/policy/core/divide.h"

namespace headrace {
namespace coordinator {
namespace {

// Keeps the most GPUs computing (GoldMiner's aim). A job keeps gpus * rate / g of its GPUs busy,
// which is linear in its rate until it is satisfied. So cores (and the source) go first to the jobs
// that make the most of them: a fractional knapsack, greedy by
//
//   gpus / g / (cost * price of a core + bytes * price of a byte/s)
//
// with the cost and bytes that hold once the job's quota of the cache is full. With the present
// ones, a job whose data is being cached would look dear while it is not served. It would stay at
// its floor, read too slowly to ever fill its quota, and hold its GPUs all the time. Between equals
// (jobs that share their data), the present cost decides.
//
// A resource of which there is enough for all has no price. With two scarce resources, the prices
// are searched over a small grid. GPUs are given in order of arrival. Preferring jobs whose cores
// are still free was tried in the simulator. It keeps fewer GPUs busy in the end, when only jobs
// that need many cores are left.
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
  static Division Best(const Snapshot& snapshot, const HitShares& hits,
                       std::span<const std::size_t> /*arrival*/) {
    const double cores = std::max(snapshot.supply.cores, 1e-9);
    const double source = snapshot.supply.source_rate;
    Scarcity scarce = ScarcityOf(snapshot, hits.now);
    if (std::isinf(source)) scarce.source = false;  // a tenant's quota alone makes no price
    constexpr std::array kCoresWeight = {1.0, 0.5, 0.0};
    Division best;
    for (const double weight : kCoresWeight) {
      if (weight < 1 && !scarce.source) break;
      if (weight > 0 && !scarce.cores && scarce.source) continue;
      const double core_price = weight / cores;
      const double byte_price = weight < 1 ? (1 - weight) / std::max(source, 1e-9) : 0;
      const auto worth = [&](const std::vector<double>& shares) {
        std::vector<double> each(snapshot.jobs.size());
        for (std::size_t i = 0; i < each.size(); ++i) {
          const JobView& job = snapshot.jobs[i];
          const double price = CostPerSample(job.terms, shares[i]) * core_price +
                               SourceBytesPerSample(job.terms, shares[i]) * byte_price;
          const double busy = job.terms.ready_rate > 0 ? job.gpus / job.terms.ready_rate : 0;
          each[i] = price > 0 ? busy / price : kUnlimited;
        }
        return each;
      };
      const std::vector<double> lasting = worth(hits.lasting), now = worth(hits.now);
      const auto order = Order(snapshot, [&](const JobView& a, const JobView& b) {
        const auto x = static_cast<std::size_t>(&a - snapshot.jobs.data());
        const auto y = static_cast<std::size_t>(&b - snapshot.jobs.data());
        return lasting[x] != lasting[y] ? lasting[x] > lasting[y] : now[x] > now[y];
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
