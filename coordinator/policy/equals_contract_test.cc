#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "coordinator/policy/core/policy_test_util.h"

// Equals are equal under every policy of the registry, and so are near-equals, nearly.
namespace headrace::coordinator {
namespace {

std::vector<std::string> PolicyNames() {
  PolicyRegistry registry;
  RegisterPolicies(registry);
  return registry.Names();
}

class EqualsContract : public testing::TestWithParam<std::string> {
 protected:
  Allocation Decide(const Snapshot& s) const { return DecideWith(GetParam(), s); }
};

// `n` jobs, each of which could use all of 4 cores, with 1 GB of data each. They came a second after one
// another. Data and the source are scarce too.
Snapshot EqualJobs(int n) {
  Snapshot s = Cluster(4);
  s.supply.source_rate = 2e7;
  s.supply.cache_bytes = 0.5e9 * n;
  s.jobs.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    JobView& job = AddJobView(s, 400, 0.01);
    job.terms.hit_cost = 0.005;
    job.terms.miss_bytes = 1e5;
    job.dataset = i;
    job.remaining_samples = 1e7;
    s.datasets.push_back({1e9, 0});
  }
  return s;
}

class Extremes {
 public:
  void Add(double value) {
    least_ = std::min(least_, value);
    greatest_ = std::max(greatest_, value);
  }
  [[nodiscard]] double ratio() const { return greatest_ / least_; }

 private:
  double least_ = kUnlimited, greatest_ = 0;
};

// Lets the cache hold what the quotas say.
void FillQuotas(const Allocation& a, Snapshot& s) {
  for (std::size_t i = 0; i < s.jobs.size(); ++i) {
    s.datasets[i].cached_bytes = a.dataset_bytes[i];
    s.jobs[i].effective_hit = a.dataset_bytes[i] / s.datasets[i].bytes;
  }
}

TEST_P(EqualsContract, EqualJobsHaveEqualSharesOfEverything) {
  for (const int n : {2, 3, 10}) {
    Snapshot s = EqualJobs(n);
    // All of the first one's data is cached already, and nothing of the others'.
    s.datasets[0].cached_bytes = std::min(1e9, s.supply.cache_bytes);
    s.jobs[0].effective_hit = s.datasets[0].cached_bytes / 1e9;
    Allocation a;
    for (int period = 0; period < 20; ++period) {
      a = Decide(s);
      FillQuotas(a, s);
    }
    Extremes rate, cores, source, cache;
    for (int i = 0; i < n; ++i) {
      rate.Add(a.jobs[i].rate);
      cores.Add(a.jobs[i].cores);
      source.Add(a.jobs[i].source_rate);
      cache.Add(a.dataset_bytes[i]);
    }
    EXPECT_LT(rate.ratio(), 1.12) << n << " jobs";  // a quota may stay 2% above or below
    EXPECT_LT(cores.ratio(), 1.12) << n << " jobs";
    EXPECT_LT(cache.ratio(), 1.12) << n << " jobs";
    // Without a cache nothing differs at all.
    s.supply.cache_bytes = 0;
    for (JobView& job : s.jobs) job.effective_hit = 0;
    a = Decide(s);
    for (int i = 1; i < n; ++i) EXPECT_NEAR(a.jobs[i].rate, a.jobs[0].rate, 0.01 * a.jobs[0].rate);
  }
}

// Whatever is measured of jobs of which nobody knows how long they go on, they are equal.
TEST_P(EqualsContract, WithoutKnowledgeOfTheirEndAllHaveTheirFairShare) {
  Snapshot s = Cluster(6);
  AddJobView(s, 400, 0.01);
  AddJobView(s, 900, 0.01);
  AddJobView(s, 400, 0.03);
  const Allocation a = Decide(s);
  for (const Grant& each : a.jobs) EXPECT_NEAR(each.cores, 2, 0.01);
}

// Measurements are off by up to a tenth, differently in each period. And a job that has less measures
// dearer samples, by up to a tenth, so that a bad place would make itself worse.
TEST_P(EqualsContract, NoiseCementsNoOrder) {
  for (const int n : {2, 3, 10}) {
    for (unsigned seed = 0; seed < 30; ++seed) {
      std::mt19937 rng(seed);
      Snapshot s = Cluster(4);
      for (int i = 0; i < n; ++i) AddJobView(s, 400, 0.01).remaining_samples = 1e7;
      std::vector<double> sums(static_cast<std::size_t>(n), 0), last(sums.size(), 4.0 / n);
      for (int period = 0; period < 200; ++period) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
          const auto wrong = [&] { return std::uniform_real_distribution<>(0.9, 1.1)(rng); };
          const double starved = std::clamp(1 - last[i] * n / 4, 0.0, 1.0);
          s.jobs[i].terms.ready_rate = 400 * wrong();
          s.jobs[i].terms.miss_cost = 0.01 * wrong() * (1 + 0.1 * starved);
        }
        const Allocation a = Decide(s);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          last[i] = a.jobs[i].cores;
          sums[i] += last[i];
          EXPECT_GT(last[i], 0.7 * 4 / n) << "seed " << seed << ", period " << period;
        }
      }
      const auto [least, greatest] = std::ranges::minmax(sums);
      EXPECT_LT(greatest / least, 1.05) << n << " jobs, seed " << seed;
    }
  }
}

// A job that is measured a tenth better, for ever, has a little more: not all.
TEST_P(EqualsContract, NearEqualsShareInProportion) {
  Snapshot s = Cluster(4);
  AddJobView(s, 400, 0.010).remaining_samples = 1e7;
  AddJobView(s, 400, 0.011).remaining_samples = 1e7;
  const Allocation a = Decide(s);
  EXPECT_LT(a.jobs[0].cores / a.jobs[1].cores, 1.12);
  EXPECT_GT(a.jobs[0].cores / a.jobs[1].cores, 0.9);
}

// Whatever differs by next to nothing changes the result by next to nothing. An order that compares
// numbers would give one of two equal jobs what the other one had.
TEST_P(EqualsContract, TheDivisionIsContinuous) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    Snapshot s = Cluster(real(2, 30));
    s.tenants = {{"a", 1}, {"b", real(0.5, 3)}};
    if (seed % 2 == 0) s.tenants[0].quota.cores = real(1, 10);
    for (int i = 0; i < 6; ++i) {
      JobView& job = AddJobView(s, real(50, 500), real(1e-3, 3e-2), 1 << (rng() % 3));
      job.tenant = static_cast<std::int32_t>(rng() % 2);
      job.remaining_samples = real(1e4, 1e7);
      if (i % 2 == 0) continue;
      const auto arrival = job.arrival_s;
      job = s.jobs[s.jobs.size() - 2];  // equal to the one before
      job.arrival_s = arrival;
    }
    const Allocation before = Decide(s);
    for (JobView& job : s.jobs) {
      job.terms.ready_rate *= real(1 - 1e-7, 1 + 1e-7);
      job.terms.miss_cost *= real(1 - 1e-7, 1 + 1e-7);
      job.arrival_s += real(0, 1e-4);
    }
    const Allocation after = Decide(s);
    for (std::size_t i = 0; i < s.jobs.size(); ++i) {
      EXPECT_NEAR(after.jobs[i].cores, before.jobs[i].cores, 1e-4);
    }
  }
}

// A floor of one half or of all of it: what each job surely has of its fair share of the cores, whatever its
// tenant's weight and quota; or all that it asks for.
TEST_P(EqualsContract, EveryJobHasItsFloor) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    Snapshot s = Cluster(real(1, 40));
    s.floor = seed % 2 == 0 ? 0.5 : 1;
    s.tenants = {{"a", real(0.5, 4)}, {"b", 1}};
    double weights = 0, gpus_of_b = 0;
    if (seed % 3 == 0) s.tenants[1].quota.cores = real(0.5, 10);
    for (int i = 0; i < 8; ++i) {
      JobView& job = AddJobView(s, real(10, 1000), real(1e-3, 3e-2), 1 << (rng() % 4));
      job.tenant = static_cast<std::int32_t>(rng() % 2);
      job.remaining_samples = real(1e3, 1e8);
      job.arrival_s = i * 1e5;
      weights += job.gpus * s.tenants[static_cast<std::size_t>(job.tenant)].weight;
      if (job.tenant == 1) gpus_of_b += job.gpus;
    }
    const Allocation a = Decide(s);
    for (std::size_t i = 0; i < s.jobs.size(); ++i) {
      const JobView& job = s.jobs[i];
      const Tenant& tenant = s.tenants[static_cast<std::size_t>(job.tenant)];
      double share = s.supply.cores * job.gpus * tenant.weight / weights;
      if (job.tenant == 1) share = std::min(share, tenant.quota.cores * job.gpus / gpus_of_b);
      const double asked = job.terms.ready_rate * job.terms.miss_cost;
      EXPECT_GE(a.jobs[i].cores, std::min(asked, *s.floor * share) * (1 - 1e-6));
    }
  }
}

TEST_P(EqualsContract, WeightsOfTenantsCount) {
  Snapshot s = Cluster(4);
  s.tenants = {{"a", 1}, {"b", 3}};
  AddJobView(s, 1000, 0.01);
  AddJobView(s, 1000, 0.01).tenant = 1;
  const Allocation a = Decide(s);
  EXPECT_NEAR(a.jobs[0].cores, 1, 0.01);
  EXPECT_NEAR(a.jobs[1].cores, 3, 0.01);
}

// Of two equal jobs the cache of the one whose tenant weighs more is larger, in every policy alike.
TEST_P(EqualsContract, WeightsOfTenantsCountInTheCache) {
  Snapshot s = EqualJobs(2);
  s.tenants = {{"a", 1}, {"b", 3}};
  s.supply.cache_bytes = 8e8;
  s.jobs[1].tenant = 1;
  const Allocation a = Decide(s);
  EXPECT_GE(a.dataset_bytes[1], 2.5 * a.dataset_bytes[0]);
  EXPECT_GT(a.dataset_bytes[0], 0);
}

INSTANTIATE_TEST_SUITE_P(Registry, EqualsContract, testing::ValuesIn(PolicyNames()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace headrace::coordinator
