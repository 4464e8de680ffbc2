// How the bandwidth of sources is divided over jobs and workers.
#include <random>

#include "coordinator/cluster_planner_fixture.h"
#include "coordinator/divide_source.h"

namespace headrace::coordinator {
namespace {

using ClusterPlannerSourceTest = ClusterPlannerTest;

TEST_F(ClusterPlannerSourceTest, TheSourceIsDividedAndLimited) {
  const WorkerId worker = Worker(8);
  rules_.source_rate = 1e6;
  const JobId a = Job(), b = Job();
  Report(a, 100, 0.01, 1e4);  // 1 MB/s each
  Report(b, 100, 0.01, 1e4);
  EndPeriod();
  const ClusterPlan plan = Plan();
  const auto limit = [&](std::size_t i) {
    return static_cast<double>(plan.jobs[i].grants.at(worker).source_bytes_per_second);
  };
  EXPECT_LE(limit(0) + limit(1), 1e6);
  EXPECT_GE(limit(0) + limit(1), 0.98e6);
  EXPECT_GT(limit(1), 0);
}

// What must be read of a batch depends on what is cached, and any worker may be given it.
TEST_F(ClusterPlannerSourceTest, WorkersGetPartsOfTheSourceByWhatTheyRead) {
  const WorkerId one = Worker(1), two = Worker(1);
  rules_.source_rate = 1e6;
  const JobId job = Job();
  Report(job, 150, 0.01, 1e4);
  EndPeriod();
  Plan();
  const auto report = [&](WorkerId worker, int second, std::uint64_t bytes, std::uint64_t held_ns) {
    wire::WorkerHeartbeat beat;
    beat.worker = worker;
    beat.usage.push_back({.job = job, .source_bytes = bytes, .limited_ns = held_ns});
    Apply(ReportWorker{SteadyTime() + std::chrono::seconds(second), std::move(beat)});
  };
  for (const int second : {1, 2, 3}) {
    report(one, second, static_cast<std::uint64_t>(second) * 100'000, 0);
    report(two, second, static_cast<std::uint64_t>(second) * 500'000,
           static_cast<std::uint64_t>(second) * 900'000'000);
  }
  const auto grants = Plan().jobs[0].grants;
  EXPECT_NEAR(static_cast<double>(grants.at(one).source_bytes_per_second), RateWithRoom(100e3, 1e4),
              3e3);
  EXPECT_NEAR(static_cast<double>(grants.at(two).source_bytes_per_second),
              1e6 - RateWithRoom(100e3, 1e4), 9e3);
}

TEST_F(ClusterPlannerSourceTest, AJobWhoseNeedIsMetHasRoomForBatchesThatReadMore) {
  const WorkerId worker = Worker(8);
  rules_.source_rate = 1e6;
  const JobId met = Job(), open = Job();
  Report(met, 10, 0.01, 1e4);  // 100 kB/s
  Report(open, 1000, 0.001, 1e4);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_GT(plan.jobs[0].grants.at(worker).source_bytes_per_second, 150'000U);
  EXPECT_GT(plan.jobs[1].grants.at(worker).source_bytes_per_second, 800'000U);
}

// Nearly all of it is cached. Whole batches wait for the few samples that are not, so their reads may not wait
// for each other; and large reads on many workers do not take the source from others.
TEST_F(ClusterPlannerSourceTest, FewReadsHaveRoomForChanceButNoMoreThanAnEqualPart) {
  const auto limit_of = [&](double read_bytes, double reads) {
    const JobId few = Job(), open = Job();
    Report(few, reads, 0.001, read_bytes);
    Report(open, 1e6, 0.001, 1e4);
    EndPeriod();
    Plan();  // its workers are known from here on
    double sum = 0;
    for (const JobPlan& plan : Plan().jobs) {
      if (plan.job != few) continue;
      for (const auto& [id, grant] : plan.grants)
        sum += static_cast<double>(grant.source_bytes_per_second);
    }
    Apply(RemoveJob{few});
    Apply(RemoveJob{open});
    return sum;
  };
  for (int i = 0; i < 4; ++i) Worker(1);
  rules_.source_rate = 12e6;
  rules_.lease_all = true;
  // What is given to it all give, it as well.
  const double room = 4 * RateWithRoom(2e5, 1e5);
  EXPECT_THAT(limit_of(1e5, 8), ::testing::AllOf(::testing::Gt(0.85 * room), ::testing::Le(room)));
  EXPECT_THAT(limit_of(1e7, 0.1), ::testing::AllOf(::testing::Gt(3e6), ::testing::Le(6e6)));
}

TEST_F(ClusterPlannerSourceTest, WhoIsNotKnownToReadMayShowThatItDoes) {
  const WorkerId worker = Worker(8);
  rules_.source_rate = 1e6;
  const JobId reads = Job(), hits = Job();
  Report(reads, 100, 0.01, 1e4);
  Report(hits, 100, 0.01, 0);
  EndPeriod();
  Job();
  const ClusterPlan plan = Plan();
  const auto limit = [&](std::size_t i) {
    return static_cast<double>(plan.jobs[i].grants.at(worker).source_bytes_per_second);
  };
  // The first one gives a part of what the policy gave it: there is no more.
  const double sum = limit(0) + limit(1) + limit(2);
  EXPECT_LE(sum, 1e6);
  EXPECT_GE(sum, 0.98e6);
  EXPECT_NEAR(limit(2) / limit(0), 1.0 / 3, 1e-3);
  EXPECT_NEAR(limit(1) / limit(0), 1.0 / 30, 1e-3);
}

// Workers share one store: whatever moves between them, together they have no more than there is.
TEST_F(ClusterPlannerSourceTest, TheLimitsOfAllWorkersNeverExceedTheSourceOrATenantsQuota) {
  std::mt19937 random(20261128);
  rules_.source_rate = 1e8;
  Tenant small{"small"};
  small.quota.source_rate = 1e7;
  rules_.tenants = {small};
  std::vector<WorkerId> workers = {Worker(4)};
  std::vector<JobId> jobs;
  for (int round = 0; round < 150; ++round) {
    if (random() % 4 == 0) workers.push_back(Worker(1 + static_cast<int>(random() % 8)));
    if (workers.size() > 2 && random() % 4 == 0) {
      const std::size_t lost = random() % workers.size();
      Apply(RemoveWorker{workers[lost]});
      workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(lost));
    }
    if (random() % 3 == 0 && jobs.size() < 12) {
      AddJob add;
      if (random() % 2 == 0) add.tenant = "small";
      jobs.push_back(Job(add));
    }
    for (const JobId job : jobs) {
      if (random() % 4 != 0) Report(job, 100.0 + random() % 900, 1e-4, random() % 2 * 1e6);
    }
    EndPeriod();
    double all = 0, of_small = 0;
    for (const JobPlan& each : Plan().jobs) {
      for (const auto& [id, grant] : each.grants) {
        ASSERT_GT(grant.source_bytes_per_second, 0U);
        const auto limit = static_cast<double>(grant.source_bytes_per_second);
        all += limit;
        if (state_.FindJob(each.job)->spec.tenant == "small") of_small += limit;
      }
    }
    ASSERT_LE(all, rules_.source_rate + 100) << "in round " << round;  // each has a byte at least
    ASSERT_LE(of_small, small.quota.source_rate + 100) << "in round " << round;
  }
}

}  // namespace
}  // namespace headrace::coordinator
