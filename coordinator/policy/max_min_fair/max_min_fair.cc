#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "coordinator/policy/core/divide.h"

namespace headrace {
namespace coordinator {
namespace {

// Gavel's max-min fairness: the least rate / base over all jobs is as large as possible. base is
// the job's rate with an equal share of cores, cache and source: equal for each GPU, times the
// tenant's weight. For a given t, the rates min(asked, t * base) either fit or do not, so bisection
// finds t. If a tenant's quota is used up, its jobs stay at that t, and t goes on for the others.
// The rest then goes to the worst served jobs. GPUs are shared in rounds: jobs that have received
// least, for their weight, come first.
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

  // Each job's rate with an equal share of everything.
  static Rates Bases(const Snapshot& snapshot) {
    double weights = 0;
    for (const JobView& job : snapshot.jobs) weights += Weight(snapshot, job);
    Rates bases;
    for (const JobView& job : snapshot.jobs) {
      const double share = Weight(snapshot, job) / weights;
      double hit = 0;
      if (job.dataset >= 0) {
        const Dataset& dataset = snapshot.datasets[static_cast<std::size_t>(job.dataset)];
        hit = HitShare(share * snapshot.supply.cache_bytes, dataset.bytes, dataset.hosts);
      }
      bases.push_back(Throughput(job.terms, share * std::max(0.0, snapshot.supply.cores), hit,
                                 share * snapshot.supply.source_rate));
    }
    return bases;
  }

  // What is left of the supply and of each tenant's quota.
  struct Budget {
    Resources supply;
    std::vector<Resources> quotas;

    explicit Budget(const Snapshot& snapshot) : supply(snapshot.supply) {
      quotas.reserve(snapshot.tenants.size());
      for (const Tenant& tenant : snapshot.tenants) quotas.push_back(tenant.quota);
    }
    // A negative rate gives back.
    void Take(const JobView& job, double hit, double rate) {
      const double cores = CoresFor(job.terms, rate, hit);
      const double source = SourceRateFor(job.terms, rate, hit);
      for (Resources* each : {&supply, &quotas[static_cast<std::size_t>(job.tenant)]}) {
        each->cores -= cores;
        each->source_rate -= source;
      }
    }
    void PutInto(Snapshot& snapshot) const {
      snapshot.supply = supply;
      for (std::size_t t = 0; t < quotas.size(); ++t) snapshot.tenants[t].quota = quotas[t];
    }
    static bool Short(const Resources& left) { return left.cores < 0 || left.source_rate < 0; }
  };
  static Budget After(const Snapshot& snapshot, const Rates& rates, std::span<const double> hits) {
    Budget left(snapshot);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (rates[i] > 0) left.Take(snapshot.jobs[i], hits[i], rates[i]);
    }
    return left;
  }
  static bool Fits(const Snapshot& snapshot, const Rates& rates, std::span<const double> hits) {
    const Budget left = After(snapshot, rates, hits);
    return !Budget::Short(left.supply) && std::ranges::none_of(left.quotas, Budget::Short);
  }

  // Serves one class of priority after the other; lower classes keep their floor meanwhile. The
  // work for a class grows with its own jobs, because there may be as many priorities as jobs.
  static Division Fairest(const Snapshot& snapshot, const HitShares& shares,
                          std::span<const std::size_t> /*order*/) {
    const std::span<const double> hits = shares.now;
    const std::vector<double> floors = FloorShares(snapshot, hits);
    const auto floor = [&](std::size_t i) {
      const JobView& job = snapshot.jobs[i];
      return floors[static_cast<std::size_t>(job.tenant)] * AskedRate(job, hits[i]);
    };
    std::map<std::int32_t, std::vector<std::size_t>, std::greater<>> classes;
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
      classes[snapshot.jobs[i].priority].push_back(i);
    }
    Budget rest(snapshot);  // after the floors of lower classes and the rates of higher ones
    for (auto lower = classes.begin(); lower != classes.end(); ++lower) {
      if (lower == classes.begin()) continue;
      for (const std::size_t i : lower->second) rest.Take(snapshot.jobs[i], hits[i], floor(i));
    }
    Division division;
    division.rates.assign(snapshot.jobs.size(), 0);
    Snapshot own{snapshot.supply, snapshot.tenants, snapshot.datasets, {}};
    for (auto at = classes.begin(); at != classes.end(); ++at) {
      std::vector<double> own_hits;
      own.jobs.clear();
      for (const std::size_t i : at->second) {
        own.jobs.push_back(snapshot.jobs[i]);
        own_hits.push_back(hits[i]);
        if (at != classes.begin()) rest.Take(snapshot.jobs[i], hits[i], -floor(i));
      }
      rest.PutInto(own);
      const Division part = FairestOfClass(own, own_hits);
      if (at == classes.begin()) division.objective = part.objective;
      for (std::size_t k = 0; k < own.jobs.size(); ++k) {
        division.rates[at->second[k]] = part.rates[k];
        rest.Take(own.jobs[k], own_hits[k], part.rates[k]);
      }
    }
    return division;
  }

  static Division FairestOfClass(const Snapshot& snapshot, std::span<const double> hits) {
    const Rates bases = Bases(snapshot);
    // At this t every job has all that it asks for.
    double high = 0;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      if (bases[i] > 0) high = std::max(high, AskedRate(snapshot.jobs[i], hits[i]) / bases[i]);
    }
    const std::vector<double> ceilings = Ceilings(snapshot, hits, bases, high);
    const auto at = [&](double t) {
      Rates rates(bases.size(), 0);
      for (std::size_t i = 0; i < bases.size(); ++i) {
        const JobView& job = snapshot.jobs[i];
        const double own = std::min(t, ceilings[static_cast<std::size_t>(job.tenant)]);
        rates[i] = std::min(AskedRate(job, hits[i]), own * bases[i]);
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
      // A job that may have nothing can't be served better, so it does not count.
      if (ceiling > 0) division.objective = std::min(division.objective, ceiling);
    }
    const Rates more = Leftover(snapshot, hits, bases, division.rates);
    for (std::size_t i = 0; i < more.size(); ++i) division.rates[i] += more[i];
    return division;
  }

  // The largest t that each tenant's own quota allows its jobs; kUnlimited: any up to `high`.
  static std::vector<double> Ceilings(const Snapshot& snapshot, std::span<const double> hits,
                                      const Rates& bases, double high) {
    const std::size_t n = snapshot.tenants.size();
    const auto exceeded = [&](const std::vector<double>& t) {
      Rates rates;
      for (std::size_t i = 0; i < bases.size(); ++i) {
        const JobView& job = snapshot.jobs[i];
        const double own = t[static_cast<std::size_t>(job.tenant)];
        rates.push_back(std::min(AskedRate(job, hits[i]), own * bases[i]));
      }
      std::vector<bool> over;
      for (const Resources& left : After(snapshot, rates, hits).quotas) {
        over.push_back(Budget::Short(left));
      }
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

  // Max-min leaves what the worst served job cannot use, such as a source without cores. This gives
  // it to the others, worst served first.
  static Rates Leftover(const Snapshot& snapshot, std::span<const double> hits, const Rates& bases,
                        const Rates& rates) {
    Snapshot rest{snapshot.supply, snapshot.tenants, {}, snapshot.jobs};
    After(snapshot, rates, hits).PutInto(rest);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      JobView& job = rest.jobs[i];
      job.terms.ready_rate = std::max(0.0, AskedRate(snapshot.jobs[i], hits[i]) - rates[i]);
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
