// Caches of jobs whose stages look for objects.
#include "coordinator/spare_cache.h"

#include "coordinator/cluster_planner_fixture.h"
#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

class SpareCacheTest : public ClusterPlannerTest {
 protected:
  JobId JobOf(std::uint64_t bound, std::uint64_t dataset = 0, const std::string& tenant = "") {
    AddJob add;
    add.cache_bytes = bound;
    add.tenant = tenant;
    const JobId job = Job(add);
    AddSession session;
    session.job = job;
    session.session = SessionId(job.value);
    session.dataset = dataset;
    session.rows = 1000;
    Apply(session);
    return job;
  }
  static wire::JobUsage Looked(JobId job) {
    wire::JobUsage usage;
    usage.job = job;
    usage.cache_misses = 5;
    return usage;
  }
  std::uint64_t Granted(JobId job, WorkerId worker) {
    for (const JobPlan& each : MakePlan(rules_, state_).jobs) {
      if (each.job == job) return each.grants.at(worker).cache_bytes;
    }
    return 0;
  }
};

TEST_F(SpareCacheTest, AJobWhoseStagesLookForObjectsHasWhatIsLeft) {
  const WorkerId worker = Worker(1, "pool", 1'000'000'000);
  const JobId job = JobOf(wire::kNoCacheBound);
  EXPECT_EQ(Granted(job, worker), 1'000'000'000U) << "it may be about to look";
  wire::JobUsage blind;
  blind.job = job;
  blind.samples = 5000;
  Report(worker, {blind});
  EXPECT_EQ(Granted(job, worker), 0U) << "nothing of it looks for anything";
  Report(worker, {Looked(job)});
  EXPECT_EQ(Granted(job, worker), 1'000'000'000U);
  const JobId native =
      JobOf(wire::kNoCacheBound, 77);  // a guess of 600 kB for each of 1000 samples
  const std::uint64_t its = Granted(native, worker);
  EXPECT_GT(its, 600'000'000U);
  EXPECT_EQ(Granted(job, worker), 1'000'000'000U - its);
}

TEST_F(SpareCacheTest, IsDividedWithinTheirBounds) {
  const WorkerId worker = Worker(1, "pool", 1'000'000);
  const JobId none = JobOf(0), small = JobOf(100'000), one = JobOf(wire::kNoCacheBound),
              other = JobOf(wire::kNoCacheBound);
  Report(worker, {Looked(none), Looked(small), Looked(one), Looked(other)});
  EXPECT_EQ(Granted(none, worker), 0U);
  EXPECT_EQ(Granted(small, worker), 100'000U);
  EXPECT_EQ(Granted(one, worker), 450'000U);
  EXPECT_EQ(Granted(other, worker), 450'000U);
}

TEST_F(SpareCacheTest, ATenantHasNoMoreThanItsQuota) {
  const WorkerId worker = Worker(1, "pool", 1'000'000), second = Worker(1, "pool", 1'000'000);
  rules_.tenants.push_back({.name = "few"});
  rules_.tenants.back().quota.cache_bytes = 300'000;
  const JobId job = JobOf(wire::kNoCacheBound, 0, "few");
  Report(worker, {Looked(job)});
  Report(second, {Looked(job)});
  EXPECT_EQ(Granted(job, worker) + Granted(job, second), 300'000U);
}

TEST_F(SpareCacheTest, JobsOfATenantHaveEqualPartsOfItsQuota) {
  const WorkerId worker = Worker(1, "pool", 1'000'000);
  rules_.tenants.push_back({.name = "few"});
  rules_.tenants.back().quota.cache_bytes = 300'000;
  const JobId one = JobOf(wire::kNoCacheBound, 0, "few"),
              two = JobOf(wire::kNoCacheBound, 0, "few"), small = JobOf(30'000, 0, "few"),
              free = JobOf(wire::kNoCacheBound);
  Report(worker, {Looked(one), Looked(two), Looked(small), Looked(free)});
  EXPECT_EQ(Granted(small, worker), 30'000U) << "its own bound";
  EXPECT_EQ(Granted(one, worker), 135'000U);
  EXPECT_EQ(Granted(two, worker), 135'000U);
  EXPECT_EQ(Granted(free, worker), 700'000U) << "what the others may not take";
}

// A worker without room does not keep a part of the quota that another one has room for.
TEST_F(SpareCacheTest, WhatAFullWorkerCanNotTakeOfAQuotaIsAnothersToGive) {
  const WorkerId large = Worker(1, "pool", 1'000'000), little = Worker(1, "pool", 10'000);
  rules_.tenants.push_back({.name = "few"});
  rules_.tenants.back().quota.cache_bytes = 300'000;
  const JobId job = JobOf(wire::kNoCacheBound, 0, "few");
  for (const WorkerId id : {large, little}) Report(id, {Looked(job)});
  EXPECT_EQ(Granted(job, little), 10'000U);
  EXPECT_EQ(Granted(job, large), 290'000U);
}

}  // namespace
}  // namespace headrace::coordinator
