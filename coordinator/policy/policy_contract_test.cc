#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "coordinator/policy/core/policy.h"

// What every policy of the registry must hold, over random snapshots.
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

PolicySnapshot RandomSnapshot(std::mt19937& rng) {
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  PolicySnapshot s;
  for (int i = 0, n = pick(9); i < n; ++i) {
    s.jobs.push_back({JobId(i * 3 + 1), pick(6), "host" + std::to_string(pick(3))});
  }
  for (int i = 0, n = pick(12); i < n; ++i) {
    s.workers.push_back({WorkerId(i * 2 + 1), 1 + pick(64), "host" + std::to_string(pick(4))});
  }
  return s;
}

TEST_P(PolicyContract, NamesOnlyWhatExistsServesEveryJobAndRespectsWants) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const PolicySnapshot s = RandomSnapshot(rng);
    const LeaseSet leases = policy().Decide(s);
    EXPECT_EQ(leases, policy().Decide(s)) << "not a pure function";
    for (const auto& [job, workers] : leases) {
      const auto found = std::find_if(s.jobs.begin(), s.jobs.end(),
                                      [job = job](const JobDemand& d) { return d.job == job; });
      ASSERT_NE(found, s.jobs.end());
      if (found->wanted_workers > 0) {
        EXPECT_LE(workers.size(), static_cast<std::size_t>(found->wanted_workers));
      }
      for (const WorkerId id : workers) {
        EXPECT_TRUE(std::any_of(s.workers.begin(), s.workers.end(),
                                [id](const WorkerSupply& w) { return w.worker == id; }));
      }
    }
    if (s.workers.empty()) continue;
    for (const JobDemand& job : s.jobs) {
      ASSERT_TRUE(leases.contains(job.job));
      EXPECT_FALSE(leases.at(job.job).empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, PolicyContract, testing::ValuesIn(Registry().Names()),
                         [](const auto& each) { return each.param; });

TEST(PolicyRegistry, UnknownNameIsNull) { EXPECT_EQ(Registry().Find("nobody"), nullptr); }

}  // namespace
}  // namespace headrace::coordinator
