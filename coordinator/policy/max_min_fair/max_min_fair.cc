#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "coordinator/policy/core/divide.h"

namespace headrace {
namespace coordinator {
namespace {

// Gavel's max-min fairness: the least of rate / base over all jobs is as large as can be, where
// base is the job's rate with an equal share of cores, cache and source: equal for each GPU, times
// the tenant's weight. For a given t the rates min(asked, t * base) either fit or do not, so t is
// found by bisection; where a tenant's quota ends its jobs stay behind, and t goes on for the
// others. What is left then goes to the jobs that are served worst. GPUs are shared in
// rounds: those who have received least, for their weight, come first.
class MaxMinFair final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "max_min_fair"; }
  [[nodiscard]] std::string_view summary() const override {
    return "the worst served job, against its equal share, as well served as can be";
  }
  [[nodiscard]] bool preempts() const override { return true; }

  [[nodiscard]] Allocation Decide(const Snapshot& snapshot) const override {
    const auto order = Order(snapshot, [&](const JobView& a, const JobView& b) {
      return a.received / Weight(snapshot, a) < b.received / Weight(snapshot, b);
    });
    return AllocateJointly(snapshot, order, preempts(), Fairest);
  }

 private:
  static constexpr int kHalvings = 40;

  static double Weight(const Snapshot& snapshot, const JobView& job) {
    return job.gpus * snapshot.tenants[static_cast<std::size_t>(job.tenant)].weight;
  }

  // Everybody's rate with an equal share of everything.
  static Rates Bases(const Snapshot& snapshot, const std::vector<bool>& members) {
    double weights = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i]) weights += Weight(snapshot, snapshot.jobs[i]);
    }
    Rates bases(members.size(), 0);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!members[i]) continue;
      const JobView& job = snapshot.jobs[i];
      const double share = Weight(snapshot, job) / weights;
      double hit = 0;
      if (job.dataset >= 0) {
        hit = UniformHit(share * snapshot.supply.cache_bytes,
                         snapshot.datasets[static_cast<std::size_t>(job.dataset)].bytes);
      }
      bases[i] = Throughput(job.terms, share * std::max(0.0, snapshot.supply.cores), hit,
                            share * snapshot.supply.source_rate);
    }
    return bases;
  }

  // What is left of `rest` when the jobs go at these rates.
  static void Spend(const Rates& rates, std::span<const double> hits, Snapshot& rest) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (rates[i] <= 0) continue;
      const JobView& job = rest.jobs[i];
      const double cores = CoresFor(job.terms, rates[i], hits[i]);
      const double source = SourceRateFor(job.terms, rates[i], hits[i]);
      Resources& quota = rest.tenants[static_cast<std::size_t>(job.tenant)].quota;
      for (Resources* each : {&rest.supply, &quota}) {
        each->cores -= cores;
        each->source_rate -= source;
      }
    }
  }
  static bool Fits(const Snapshot& snapshot, const Rates& rates, std::span<const double> hits) {
    std::vector<Resources> left;
    left.reserve(snapshot.tenants.size() + 1);
    for (const Tenant& tenant : snapshot.tenants) left.push_back(tenant.quota);
    left.push_back(snapshot.supply);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (rates[i] <= 0) continue;
      const JobView& job = snapshot.jobs[i];
      const double cores = CoresFor(job.terms, rates[i], hits[i]);
      const double source = SourceRateFor(job.terms, rates[i], hits[i]);
      for (Resources* each : {&left.back(), &left[static_cast<std::size_t>(job.tenant)]}) {
        each->cores -= cores;
        each->source_rate -= source;
      }
    }
    return std::all_of(left.begin(), left.end(), [](const Resources& each) {
      return each.cores >= 0 && each.source_rate >= 0;
    });
  }

  // One class of priority after the other; the lower ones keep their floor meanwhile.
  static Division Fairest(const Snapshot& snapshot, const HitShares& shares,
                          std::span<const std::size_t> /*order*/) {
    const std::span<const double> hits = shares.now;
    const std::size_t n = snapshot.jobs.size();
    std::set<std::int32_t, std::greater<>> classes;
    for (const JobView& job : snapshot.jobs) classes.insert(job.priority);
    const std::vector<double> floors = FloorShares(snapshot, hits);
    Division division;
    division.rates.assign(n, 0);
    for (const std::int32_t priority : classes) {
      std::vector<bool> members(n, false);
      Rates spent = division.rates;
      for (std::size_t i = 0; i < n; ++i) {
        const JobView& job = snapshot.jobs[i];
        if (job.priority == priority) members[i] = true;
        if (job.priority < priority) {
          spent[i] = floors[static_cast<std::size_t>(job.tenant)] * AskedRate(job, hits[i]);
        }
      }
      Snapshot rest = snapshot;
      Spend(spent, hits, rest);
      const Division own = FairestOfClass(rest, members, hits);
      if (priority == *classes.begin()) division.objective = own.objective;
      for (std::size_t i = 0; i < n; ++i) division.rates[i] += own.rates[i];
    }
    return division;
  }

  static Division FairestOfClass(const Snapshot& snapshot, const std::vector<bool>& members,
                                 std::span<const double> hits) {
    const Rates bases = Bases(snapshot, members);
    // Where everybody has all that it asks for.
    double high = 0;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      if (bases[i] > 0) high = std::max(high, AskedRate(snapshot.jobs[i], hits[i]) / bases[i]);
    }
    const std::vector<double> ceilings = Ceilings(snapshot, members, hits, bases, high);
    const auto at = [&](double t) {
      Rates rates(bases.size(), 0);
      for (std::size_t i = 0; i < bases.size(); ++i) {
        const JobView& job = snapshot.jobs[i];
        const double own = std::min(t, ceilings[static_cast<std::size_t>(job.tenant)]);
        if (members[i]) rates[i] = std::min(AskedRate(job, hits[i]), own * bases[i]);
      }
      return rates;
    };
    double low = 0;
    if (Fits(snapshot, at(high), hits)) low = high;
    for (int k = 0; k < kHalvings && high - low > 1e-6 * high; ++k) {
      const double middle = (low + high) / 2;
      (Fits(snapshot, at(middle), hits) ? low : high) = middle;
    }
    Division division;
    division.rates = at(low);
    division.objective = low;
    for (const double ceiling : ceilings) {
      // Who may have nothing is served no better by anything.
      if (ceiling > 0) division.objective = std::min(division.objective, ceiling);
    }
    const Rates more = Leftover(snapshot, members, hits, bases, division.rates);
    for (std::size_t i = 0; i < more.size(); ++i) division.rates[i] += more[i];
    return division;
  }

  // Largest t that each tenant's own quota allows its jobs; kUnlimited: any up to `high`.
  static std::vector<double> Ceilings(const Snapshot& snapshot, const std::vector<bool>& members,
                                      std::span<const double> hits, const Rates& bases,
                                      double high) {
    const std::size_t n = snapshot.tenants.size();
    const auto exceeded = [&](const std::vector<double>& t) {
      std::vector<Resources> left;
      for (const Tenant& tenant : snapshot.tenants) left.push_back(tenant.quota);
      for (std::size_t i = 0; i < bases.size(); ++i) {
        if (!members[i]) continue;
        const JobView& job = snapshot.jobs[i];
        const auto own = static_cast<std::size_t>(job.tenant);
        const double rate = std::min(AskedRate(job, hits[i]), t[own] * bases[i]);
        left[own].cores -= CoresFor(job.terms, rate, hits[i]);
        left[own].source_rate -= SourceRateFor(job.terms, rate, hits[i]);
      }
      std::vector<bool> over;
      for (const Resources& each : left) over.push_back(each.cores < 0 || each.source_rate < 0);
      return over;
    };
    std::vector<double> low(n, kUnlimited), middle(n, high), above(n, high);
    const std::vector<bool> scarce = exceeded(middle);
    if (std::none_of(scarce.begin(), scarce.end(), [](bool each) { return each; })) return low;
    for (std::size_t t = 0; t < n; ++t) {
      if (scarce[t]) low[t] = 0;
    }
    for (int k = 0; k < kHalvings; ++k) {
      for (std::size_t t = 0; t < n; ++t) {
        if (scarce[t]) middle[t] = (low[t] + above[t]) / 2;
      }
      const std::vector<bool> over = exceeded(middle);
      for (std::size_t t = 0; t < n; ++t) {
        if (scarce[t]) (over[t] ? above : low)[t] = middle[t];
      }
    }
    return low;
  }

  // Max-min leaves what the worst served job cannot use: a source without cores, say. It goes to
  // the others, worst served first.
  static Rates Leftover(const Snapshot& snapshot, const std::vector<bool>& members,
                        std::span<const double> hits, const Rates& bases, const Rates& rates) {
    Snapshot rest = snapshot;
    Spend(rates, hits, rest);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      JobView& job = rest.jobs[i];
      const double asked = members[i] ? AskedRate(snapshot.jobs[i], hits[i]) : 0;
      job.terms.ready_rate = std::max(0.0, asked - rates[i]);
      job.most_cores = kUnlimited;
    }
    const auto order = Order(snapshot, [&](const JobView& a, const JobView& b) {
      const auto served = [&](const JobView& job) {
        const auto i = static_cast<std::size_t>(&job - snapshot.jobs.data());
        return bases[i] > 0 ? rates[i] / bases[i] : kUnlimited;
      };
      return served(a) < served(b);
    });
    return DivideInOrder(rest, hits, order);
  }
};

}  // namespace
}  // namespace coordinator

void RegisterPolicyMaxMinFair(coordinator::PolicyRegistry& registry) {
  registry.Register(std::make_unique<coordinator::MaxMinFair>());
}

}  // namespace headrace
