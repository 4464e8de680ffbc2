#include <algorithm>
#include <memory>
#include <vector>

#include "coordinator/policy/core/divide.h"

namespace headrace {
namespace coordinator {
namespace {

// Gavel's max-min fairness: the least rate / base over all jobs is as large as possible. base is the job's
// rate with an equal share of cores, source and cache, by weight. All rates rise together as
// t * base. Who has what it asks for stops there, and who needs something that is used up, of the supply
// or of its tenant's quota; t goes on for the others. GPUs are shared in rounds: jobs that have received
// least, for their weight, come first.
class MaxMinFair final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "max_min_fair"; }
  [[nodiscard]] std::string_view summary() const override {
    return "the worst served job, against its equal share, as well served as can be";
  }
  [[nodiscard]] std::string_view preference() const override {
    return "its samples take more cores: all rates rise together";
  }
  [[nodiscard]] bool preempts() const override { return true; }

  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    const auto order = Order(snapshot, [&](const JobView& a, const JobView& b) {
      return a.received / WeightOf(snapshot, a) < b.received / WeightOf(snapshot, b);
    });
    return AllocateJointly(snapshot, order, preempts(), Fairest);
  }

 private:
  static Division Fairest(const Snapshot& snapshot, const HitShares& shares) {
    const std::span<const double> hits = shares.now;
    return DivideByPriority(
        snapshot, hits,
        [&](std::span<const std::size_t> members, Budget& budget, Division& division) {
          const Rates bases = Bases(snapshot, members, budget);
          const double level = PourRates(snapshot, hits, members, bases, budget, division);
          if (level < kUnlimited) return level;
          // All have what they ask for.
          double most = 0;
          for (std::size_t k = 0; k < members.size(); ++k) {
            if (bases[k] > 0) most = std::max(most, division.rates[members[k]] / bases[k]);
          }
          return most;
        });
  }

  // Each job's rate with an equal share of everything, by weight, whoever needs it. What is cached now does
  // not count: a job that is served from the cache would make the others' shares larger.
  static Rates Bases(const Snapshot& snapshot, std::span<const std::size_t> members,
                     const Budget& budget) {
    double weights = 0;
    std::vector<double> of_tenants(snapshot.tenants.size(), 0);
    for (const std::size_t i : members) {
      const JobView& job = snapshot.jobs[i];
      weights += WeightOf(snapshot, job);
      of_tenants[static_cast<std::size_t>(job.tenant)] += WeightOf(snapshot, job);
    }
    Rates bases;
    bases.reserve(members.size());
    for (const std::size_t i : members) {
      const JobView& job = snapshot.jobs[i];
      const double weight = WeightOf(snapshot, job);
      const auto t = static_cast<std::size_t>(job.tenant);
      const double share = weight / weights;
      const double of_quota = weight / of_tenants[t];
      const auto least = [&](double supply, double quota) {
        return std::max(0.0, std::min(share * supply, of_quota * quota));
      };
      const Resources& quota = budget.quotas[t];
      double hit = 0;
      if (job.dataset >= 0) {
        const Dataset& dataset = snapshot.datasets[static_cast<std::size_t>(job.dataset)];
        hit = HitShare(share * snapshot.supply.cache_bytes, dataset.bytes, dataset.hosts);
      }
      bases.push_back(Throughput(job.terms, least(budget.supply.cores, quota.cores), hit,
                                 least(budget.supply.source_rate, quota.source_rate)));
    }
    return bases;
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicyMaxMinFair(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::MaxMinFair>());
}

}  // namespace headrace
