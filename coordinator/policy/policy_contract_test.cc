#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "coordinator/policy/core/divide.h"
#include "coordinator/policy/core/policy.h"

// The contract of every policy of the registry, over random snapshots.
namespace headrace::coordinator {
namespace {

PolicyRegistry& Registry() {
  static PolicyRegistry& registry = *[] {
    auto* made = new PolicyRegistry;
    RegisterPolicies(*made);
    return made;
  }();
  return registry;
}

class PolicyContract : public testing::TestWithParam<std::string> {
 protected:
  const Policy& policy() const { return *Registry().Find(GetParam()); }
};

Snapshot RandomSnapshot(std::mt19937& rng) {
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  };
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  Snapshot s;
  s.supply.gpus = pick(3) == 0 ? kUnlimited : pick(40);
  s.supply.cores = pick(8) == 0 ? 0 : real(0, 60);
  s.supply.cache_bytes = pick(3) == 0 ? 0 : real(0, 3e11);
  s.supply.source_rate = pick(3) == 0 ? kUnlimited : real(0, 2e9);
  for (int i = 0, n = 1 + pick(3); i < n; ++i) {
    Tenant tenant{"tenant" + std::to_string(i), real(0.5, 4)};
    if (pick(3) == 0) tenant.quota.cores = real(0, 20);
    if (pick(4) == 0) tenant.quota.gpus = pick(16);
    if (pick(4) == 0) tenant.quota.cache_bytes = real(0, 1e11);
    if (pick(4) == 0) tenant.quota.source_rate = real(0, 1e9);
    s.tenants.push_back(tenant);
  }
  for (int i = 0, n = pick(4); i < n; ++i) s.datasets.push_back({real(1e9, 4e11), 0});
  for (Dataset& dataset : s.datasets) dataset.cached_bytes = real(0, dataset.bytes);
  for (int i = 0, n = pick(12); i < n; ++i) {
    JobView job;
    job.job = JobId(i * 3 + 1);
    job.tenant = pick(static_cast<int>(s.tenants.size()));
    job.priority = pick(4) == 0 ? pick(3) - 1 : 0;
    job.gpus = 1 << pick(4);
    job.running = false;
    job.arrival_s = i;
    job.terms = {real(10, 5000), real(0, 1e-3), real(1e-4, 2e-2), pick(4) == 0 ? 0 : 1.1e5};
    if (pick(3) == 0) job.most_cores = real(0.1, 8);
    if (!s.datasets.empty() && pick(3) > 0) {
      job.dataset = pick(static_cast<int>(s.datasets.size()));
      const Dataset& d = s.datasets[static_cast<std::size_t>(job.dataset)];
      job.effective_hit = real(0, d.cached_bytes / d.bytes);
    }
    if (pick(2) == 0) job.remaining_samples = real(1e3, 1e7);
    job.received = real(0, 1e5);
    s.jobs.push_back(job);
  }
  return s;
}

TEST_P(PolicyContract, KeepsEveryLimitAndStarvesNobody) {
  constexpr double kSlack = 1 + 1e-9;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const Snapshot s = RandomSnapshot(rng);
    const Allocation a = policy().Decide(s);
    ASSERT_EQ(a.jobs.size(), s.jobs.size());
    ASSERT_EQ(a.dataset_bytes.size(), s.datasets.size());
    Resources used{0, 0, 0, 0};
    std::vector<Resources> by_tenant(s.tenants.size(), used);
    for (std::size_t i = 0; i < s.jobs.size(); ++i) {
      const JobView& job = s.jobs[i];
      const Grant& grant = a.jobs[i];
      if (!grant.admitted) {
        EXPECT_FALSE(grant.reason.empty());
        EXPECT_EQ(grant.cores + grant.source_rate + grant.rate, 0);
        continue;
      }
      EXPECT_TRUE(grant.reason.empty());
      EXPECT_LE(grant.cores, job.most_cores * kSlack);
      EXPECT_LE(grant.rate, job.terms.ready_rate * kSlack);
      Resources& own = by_tenant[static_cast<std::size_t>(job.tenant)];
      for (Resources* sum : {&used, &own}) {
        sum->gpus += job.gpus;
        sum->cores += grant.cores;
        sum->source_rate += grant.source_rate;
      }
      const Resources& quota = s.tenants[static_cast<std::size_t>(job.tenant)].quota;
      const bool possible = s.supply.cores > 0 && quota.cores > 0 && s.supply.source_rate > 0 &&
                            quota.source_rate > 0;
      if (possible) {
        EXPECT_GT(grant.rate, 0) << "job " << job.job.value << " stands still";
      }
    }
    for (const double bytes : a.dataset_bytes) used.cache_bytes += bytes;
    const auto within = [&](const Resources& sum, const Resources& limit) {
      EXPECT_LE(sum.gpus, limit.gpus);
      EXPECT_LE(sum.cores, limit.cores * kSlack + 1e-9);
      EXPECT_LE(sum.cache_bytes, limit.cache_bytes * kSlack);
      if (!std::isinf(limit.source_rate)) {
        EXPECT_LE(sum.source_rate, limit.source_rate * kSlack + 1e-3);
      }
    };
    within(used, s.supply);
    for (std::size_t t = 0; t < s.tenants.size(); ++t) within(by_tenant[t], s.tenants[t].quota);
    for (std::size_t d = 0; d < s.datasets.size(); ++d) {
      EXPECT_LE(a.dataset_bytes[d], s.datasets[d].bytes * kSlack);
    }
  }
}

// What a policy says of a grant is true: the limit that it names is reached, and the rival is there.
TEST_P(PolicyContract, SaysWhyAJobHasNoMore) {
  constexpr double kAll = 1 - 1e-6;
  std::map<GrantLimit, int> seen;
  int rivals = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const Snapshot s = RandomSnapshot(rng);
    const Allocation a = policy().Decide(s);
    Resources used{0, 0, 0, 0};
    std::vector<Resources> of_tenants(s.tenants.size(), used);
    std::int32_t highest = std::numeric_limits<std::int32_t>::min();
    std::set<std::int32_t> classes;
    for (std::size_t i = 0; i < s.jobs.size(); ++i) {
      if (!a.jobs[i].admitted) continue;
      highest = std::max(highest, s.jobs[i].priority);
      classes.insert(s.jobs[i].priority);
      for (Resources* sum : {&used, &of_tenants[static_cast<std::size_t>(s.jobs[i].tenant)]}) {
        sum->cores += a.jobs[i].cores;
        sum->source_rate += a.jobs[i].source_rate;
      }
    }
    for (std::size_t i = 0; i < s.jobs.size(); ++i) {
      const JobView& job = s.jobs[i];
      const GrantWhy& why = a.jobs[i].why;
      if (!a.jobs[i].admitted) {
        EXPECT_EQ(why, GrantWhy{});
        continue;
      }
      ++seen[why.limit];
      EXPECT_EQ(why.cores, a.jobs[i].cores);
      EXPECT_GE(why.wanted, why.cores);
      const auto t = static_cast<std::size_t>(job.tenant);
      const Resources& quota = s.tenants[t].quota;
      // What is kept for a lower class may be of no use to it, where it lacks something else.
      const bool kept = classes.size() > 1;
      switch (why.limit) {
        case GrantLimit::kEnough:
          EXPECT_GE(why.cores, why.wanted * kAll - 1e-9);
          EXPECT_FALSE(why.rival.valid());
          break;
        case GrantLimit::kPriority:
          EXPECT_LT(job.priority, highest);
          break;
        case GrantLimit::kQuota:
          EXPECT_TRUE(kept || of_tenants[t].cores >= quota.cores * kAll - 1e-9 ||
                      of_tenants[t].source_rate >= quota.source_rate * kAll - 1e-3);
          break;
        case GrantLimit::kSource:
          EXPECT_TRUE(kept || used.source_rate >= s.supply.source_rate * kAll - 1e-3);
          break;
        case GrantLimit::kCores:
          EXPECT_TRUE(kept || used.cores >= s.supply.cores * kAll - 1e-9);
          break;
      }
      if (!why.rival.valid()) continue;
      ++rivals;
      const auto rival = std::ranges::find(s.jobs, why.rival, &JobView::job) - s.jobs.begin();
      ASSERT_LT(rival, std::ssize(s.jobs));
      EXPECT_NE(why.rival, job.job);
      EXPECT_EQ(why.rival_cores, a.jobs[static_cast<std::size_t>(rival)].cores);
      if (why.limit == GrantLimit::kCores && !kept) {
        const JobView& other = s.jobs[static_cast<std::size_t>(rival)];
        EXPECT_GT(why.rival_cores / WeightOf(s, other), why.cores / WeightOf(s, job));
      }
      if (why.limit == GrantLimit::kQuota) {
        EXPECT_EQ(s.jobs[static_cast<std::size_t>(rival)].tenant, job.tenant);
      }
      if (why.limit == GrantLimit::kPriority) {
        EXPECT_EQ(s.jobs[static_cast<std::size_t>(rival)].priority, highest);
      }
    }
  }
  EXPECT_EQ(seen.size(), 5U) << "of all kinds";
  EXPECT_GT(rivals, 1000);
}

TEST_P(PolicyContract, IsAPureFunction) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 rng(seed);
    const Snapshot s = RandomSnapshot(rng);
    const Allocation a = policy().Decide(s), b = policy().Decide(s);
    EXPECT_EQ(a.dataset_bytes, b.dataset_bytes) << "seed " << seed;
    for (std::size_t i = 0; i < s.jobs.size(); ++i) {
      EXPECT_EQ(a.jobs[i].cores, b.jobs[i].cores) << "seed " << seed;
      EXPECT_EQ(a.jobs[i].rate, b.jobs[i].rate) << "seed " << seed;
    }
  }
}

// A waiting job with nothing in the cache has no effect on running jobs: the division is the same,
// to the bit, as without it.
TEST_P(PolicyContract, JobsThatWaitChangeNothingForThoseThatRun) {
  int left_out = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    Snapshot s = RandomSnapshot(rng);
    // Some orders use the sum of all jobs' GPUs if the supply is unlimited.
    if (std::isinf(s.supply.gpus)) s.supply.gpus = 12;
    for (JobView& job : s.jobs) {
      if (job.job.value % 2 == 0) job.received = 0;
    }
    const Allocation a = policy().Decide(s);
    Snapshot without = s;
    without.jobs.clear();
    std::vector<Grant> expected;
    for (std::size_t i = 0; i < s.jobs.size(); ++i) {
      if (!a.jobs[i].admitted && s.jobs[i].received == 0) continue;
      without.jobs.push_back(s.jobs[i]);
      expected.push_back(a.jobs[i]);
    }
    left_out += static_cast<int>(s.jobs.size() - expected.size());
    const Allocation b = policy().Decide(without);
    ASSERT_EQ(a.dataset_bytes, b.dataset_bytes);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_EQ(expected[k].admitted, b.jobs[k].admitted);
      EXPECT_EQ(expected[k].cores, b.jobs[k].cores);
      EXPECT_EQ(expected[k].source_rate, b.jobs[k].source_rate);
      EXPECT_EQ(expected[k].rate, b.jobs[k].rate);
    }
  }
  EXPECT_GT(left_out, 1000);
}

// Two jobs differ only in their priority. However late it came, the higher one gets all it asks for
// before the other exceeds its floor.
TEST_P(PolicyContract, ServesTheHigherPriorityFirst) {
  Snapshot s;
  s.supply.cores = 4;
  s.tenants = {{"a"}};
  for (int i = 0; i < 2; ++i) {
    JobView job;
    job.job = JobId(i);
    job.arrival_s = i;
    job.priority = i;
    job.terms = {400, 0, 0.01, 0};  // 4 cores each
    s.jobs.push_back(job);
  }
  const Allocation a = policy().Decide(s);
  EXPECT_NEAR(a.jobs[0].cores, 4 * kLeastShare, 1e-3);
  EXPECT_NEAR(a.jobs[1].cores, 4 - 4 * kLeastShare, 1e-3);
}

TEST_P(PolicyContract, PriorityGetsGpusFirst) {
  Snapshot s;
  s.supply.cores = 4;
  s.supply.gpus = 8;
  s.tenants = {{"a"}};
  for (int i = 0; i < 3; ++i) {
    JobView job;
    job.job = JobId(i);
    job.running = false;
    job.gpus = 8;
    job.priority = i == 1 ? 5 : 0;
    job.terms = {100, 0, 0.01, 0};
    s.jobs.push_back(job);
  }
  const Allocation a = policy().Decide(s);
  EXPECT_FALSE(a.jobs[0].admitted);
  EXPECT_TRUE(a.jobs[1].admitted);
  EXPECT_EQ(a.jobs[2].reason, "needs 8 GPUs, 0 are free");
}

// What a tenant asks for beyond its quota does not affect the floor of others.
TEST_P(PolicyContract, AQuotaTakesNoFloorFromOtherTenants) {
  for (const double quota : {0.0, 1e6}) {
    Snapshot s;
    s.supply.cores = 4;
    s.supply.source_rate = 1e9;
    s.tenants = {{"small"}, {"other"}};
    s.tenants[0].quota.source_rate = quota;
    for (int i = 0; i < 3; ++i) {
      JobView job;
      job.job = JobId(i);
      job.arrival_s = i;
      job.priority = -i;
      job.tenant = i == 0 ? 0 : 1;
      job.terms = {400, 0, 0.01, 1e6};  // 4 cores, 400 MB/s
      s.jobs.push_back(job);
    }
    const Allocation a = policy().Decide(s);
    EXPECT_NEAR(a.jobs[0].rate, quota / 1e6, 1e-6);
    EXPECT_GE(a.jobs[2].rate, 0.99 * kLeastShare * 400) << "beside a quota of " << quota;
  }
}

// What is pinned has its quota before anything else has one, within its tenant's; bounds hold.
TEST_P(PolicyContract, PinsComeFirstAndBoundsHold) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    Snapshot s = RandomSnapshot(rng);
    const auto real = [&](double high) { return std::uniform_real_distribution<>(0, high)(rng); };
    const auto tenants = static_cast<unsigned>(s.tenants.size());
    double pins = 0;
    std::vector<double> of_tenant(s.tenants.size(), 0);
    for (Dataset& dataset : s.datasets) {
      if (rng() % 2 == 0) dataset.most_bytes = real(2 * dataset.bytes);
      if (rng() % 2 == 0) continue;
      dataset.tenant = static_cast<std::int32_t>(rng() % tenants);
      dataset.pinned_bytes = std::min(real(dataset.bytes), dataset.most_bytes);
      pins += dataset.pinned_bytes;
      of_tenant[static_cast<std::size_t>(dataset.tenant)] += dataset.pinned_bytes;
    }
    const Allocation a = policy().Decide(s);
    ASSERT_EQ(a.dataset_bytes.size(), s.datasets.size());
    if (s.supply.cache_bytes <= 0) continue;
    double all = 0;
    for (std::size_t d = 0; d < s.datasets.size(); ++d) {
      const Dataset& dataset = s.datasets[d];
      all += a.dataset_bytes[d];
      EXPECT_LE(a.dataset_bytes[d], dataset.most_bytes * (1 + 1e-9));
      if (dataset.pinned_bytes == 0 || pins > s.supply.cache_bytes) continue;
      const auto t = static_cast<std::size_t>(dataset.tenant);
      if (of_tenant[t] > s.tenants[t].quota.cache_bytes) continue;
      EXPECT_GE(a.dataset_bytes[d], dataset.pinned_bytes * (1 - 1e-9));
    }
    EXPECT_LE(all, s.supply.cache_bytes * (1 + 1e-9));
  }
}

// Only jobs that wait are moved, and none that came an hour after the oldest of them.
TEST(SharedFirst, MovesJobsWhoseDataSetIsCached) {
  Snapshot s;
  s.datasets = {{100, 0}, {100, 60}, {100, 10}};
  const auto add = [&](std::int32_t dataset, double arrival_s, bool running = false) {
    JobView job;
    job.dataset = dataset;
    job.arrival_s = arrival_s;
    job.running = running;
    s.jobs.push_back(job);
  };
  add(2, 0, true);  // reads the last one
  add(0, 10);
  add(1, 20);
  add(0, 30);
  add(2, 40);
  add(1, 10 + kMostAhead + 1);
  const std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(SharedFirst(s, order), (std::vector<std::size_t>{2, 4, 0, 1, 3, 5}));
  s.jobs[3].priority = 1;
  EXPECT_EQ(SharedFirst(s, order), (std::vector<std::size_t>{3, 2, 4, 0, 1, 5}));
}

INSTANTIATE_TEST_SUITE_P(Registry, PolicyContract, testing::ValuesIn(Registry().Names()),
                         [](const auto& each) { return each.param; });

TEST(PolicyRegistry, UnknownNameIsNull) { EXPECT_EQ(Registry().Find("nobody"), nullptr); }

}  // namespace
}  // namespace headrace::coordinator
