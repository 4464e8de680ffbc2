#include "coordinator/cluster_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/check.h"

namespace headrace::coordinator {
namespace {

using testing::SizeIs;

// A state made by hand: jobs with known terms on workers.
class ClusterPlannerTest : public testing::Test {
 protected:
  ClusterPlannerTest() {
    RegisterPolicies(policies_);
    rules_.policy = policies_.Find("utilization");
  }

  void Apply(const Update& update) {
    const Status applied = state_.Apply(update);
    HR_CHECK(applied.ok());
  }
  WorkerId Worker(int cores, const std::string& host = "pool", std::uint64_t cache_bytes = 0,
                  std::uint32_t millicores = 0) {
    AddWorker add;
    add.token = "worker-token-" + std::to_string(state_.next_worker().value);
    add.info.worker = state_.next_worker();
    add.info.cores = cores;
    add.info.millicores = millicores;
    add.info.host = {host, host, 0, 1};
    add.info.cache_bytes = cache_bytes;
    Apply(add);
    Report(add.info.worker, {});
    return add.info.worker;
  }
  JobId Job(AddJob add = {}) {
    add.job = state_.next_job();
    add.consumer = state_.next_consumer();
    add.token = "job-token-" + std::to_string(add.job.value);
    if (add.host.hostname.empty()) add.host = {"home", "home", 0, 1};
    Apply(add);
    return add.job;
  }
  void Report(WorkerId worker, std::vector<wire::JobUsage> usage) {
    wire::WorkerHeartbeat beat;
    beat.worker = worker;
    beat.usage = std::move(usage);
    Apply(ReportWorker{{}, std::move(beat)});
  }
  // Makes the client's report for one second: 100% of `rate` would take `rate * cost` cores.
  void Report(JobId job, double rate, double cost, double bytes = 0) {
    wire::SessionLoad& load = loads_[job];
    load.session = SessionId(job.value);
    load.samples += static_cast<std::uint64_t>(rate);
    load.step_ns += 1'000'000'000;
    load.miss_samples += static_cast<std::uint64_t>(rate);
    load.miss_cpu_ns += static_cast<std::uint64_t>(rate * cost * 1e9);
    load.source_bytes += static_cast<std::uint64_t>(rate * bytes);
    Apply(SeeConsumer{job, {}, {load}, true});
  }
  void EndPeriod() { Apply(coordinator::EndPeriod{}); }
  // Plans, applies the plan, and returns it.
  ClusterPlan Plan() {
    ClusterPlan plan = MakePlan(rules_, state_);
    for (const JobPlan& each : plan.jobs) {
      std::vector<WorkerId> workers;
      for (const auto& [id, grant] : each.grants) workers.push_back(id);
      Apply(SetLeases{each.job, state_.FindJob(each.job)->generation + 1, workers});
      Apply(SetGrants{each.job, each.grants, each.reason});
    }
    return plan;
  }
  static double Cores(const JobPlan& plan) {
    double sum = 0;
    for (const auto& [id, grant] : plan.grants) sum += grant.millicores / 1000.0;
    return sum;
  }

  PolicyRegistry policies_;
  PlanRules rules_;
  State state_;
  std::map<JobId, wire::SessionLoad> loads_;
};

TEST_F(ClusterPlannerTest, AnUnknownJobStartsWithWhatThereIs) {
  Worker(4);
  Worker(4);
  Job();
  const ClusterPlan plan = Plan();
  EXPECT_DOUBLE_EQ(Cores(plan.jobs[0]), 8);
  EXPECT_DOUBLE_EQ(plan.demand_cores, 1);
}

TEST_F(ClusterPlannerTest, ThenWithWhatItNeeds) {
  Worker(4);
  Worker(4);
  const JobId job = Job();
  Plan();
  Report(job, 100, 0.02);  // 2 cores and a tenth
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(Cores(plan.jobs[0]), 2.2, 1e-3);
  EXPECT_THAT(plan.jobs[0].grants, SizeIs(1));
}

TEST_F(ClusterPlannerTest, PrivateWorkersAreAllLeased) {
  rules_.lease_all = true;
  Worker(4);
  Worker(4);
  const JobId job = Job();
  Plan();
  Report(job, 100, 0.02);
  EndPeriod();
  EXPECT_THAT(Plan().jobs[0].grants, SizeIs(2));
}

TEST_F(ClusterPlannerTest, RanksOfAProgramAreServedAlike) {
  // 6 cores; two ranks of 4 each, and a job of 4 alone that is worth as much for each GPU.
  Worker(6);
  AddJob rank;
  rank.group = "program";
  const JobId a = Job(rank), b = Job(rank), alone = Job();
  for (const JobId job : {a, b, alone}) Report(job, 400, 0.01);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_NEAR(Cores(plan.jobs[0]), Cores(plan.jobs[1]), 0.01);
  EXPECT_NEAR(Cores(plan.jobs[0]) + Cores(plan.jobs[1]) + Cores(plan.jobs[2]), 6, 0.01);
}

TEST_F(ClusterPlannerTest, ProgramsThatAreNamedAlikeAreOneOnlyWithinATenant) {
  Worker(8);
  rules_.tenants = {{"small", 1, {kUnlimited, 1, kUnlimited, kUnlimited}}, {"large"}};
  AddJob of_small, of_large, alone;
  of_small.tenant = "small";
  of_large.tenant = "large";
  of_small.group = of_large.group = "program";
  Job(of_small);
  const JobId large = Job(of_large);
  alone.group = "job " + std::to_string(large.value + 2);
  const JobId named = Job(alone), other = Job();
  for (const JobId job : {large, named, other}) Report(job, 100, 0.02);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_LE(Cores(plan.jobs[0]), 1);
  EXPECT_NEAR(Cores(plan.jobs[1]), 2.2, 0.01) << "not behind the quota of another tenant";
}

TEST_F(ClusterPlannerTest, ATenantsQuotaBindsAndAZeroQuotaIsSaid) {
  Worker(8);
  rules_.tenants = {{"small", 1, {kUnlimited, 1, kUnlimited, kUnlimited}},
                    {"none", 1, {kUnlimited, 0, kUnlimited, kUnlimited}},
                    {"mute", 1, {kUnlimited, kUnlimited, kUnlimited, 0}}};
  AddJob small, none, mute;
  small.tenant = "small";
  none.tenant = "none";
  mute.tenant = "mute";
  Job(small);
  Job(none);
  Job(mute);
  const ClusterPlan plan = Plan();
  EXPECT_DOUBLE_EQ(Cores(plan.jobs[0]), 1);
  EXPECT_TRUE(plan.jobs[1].grants.empty());
  EXPECT_EQ(plan.jobs[1].reason, "tenant none has no quota of cores");
  EXPECT_TRUE(plan.jobs[2].grants.empty());
  EXPECT_EQ(plan.jobs[2].reason, "tenant mute has no quota of the source's bandwidth");
}

TEST_F(ClusterPlannerTest, WithoutWorkersItSaysSo) {
  Job();
  EXPECT_EQ(Plan().jobs[0].reason, "no worker");
}

TEST_F(ClusterPlannerTest, TheSourceIsDividedAndLimited) {
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
TEST_F(ClusterPlannerTest, WorkersGetPartsOfTheSourceByWhatTheyRead) {
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
  EXPECT_NEAR(static_cast<double>(grants.at(one).source_bytes_per_second), 125e3, 2e3);
  EXPECT_NEAR(static_cast<double>(grants.at(two).source_bytes_per_second), 875e3, 9e3);
}

TEST_F(ClusterPlannerTest, AJobWhoseNeedIsMetHasRoomForBatchesThatReadMore) {
  const WorkerId worker = Worker(8);
  rules_.source_rate = 1e6;
  const JobId met = Job(), open = Job();
  Report(met, 10, 0.01, 1e4);  // 100 kB/s
  Report(open, 1000, 0.001, 1e4);
  EndPeriod();
  const ClusterPlan plan = Plan();
  EXPECT_GT(plan.jobs[0].grants.at(worker).source_bytes_per_second, 115'000U);
  EXPECT_GT(plan.jobs[1].grants.at(worker).source_bytes_per_second, 850'000U);
}

// A container may have a part of a core.
TEST_F(ClusterPlannerTest, PartsOfCoresCount) {
  std::vector<WorkerId> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(Worker(1, "pool", 0, 200));
  Report(Job(), 100, 0.01);  // one core
  EndPeriod();
  const ClusterPlan plan = Plan();
  for (const WorkerId worker : workers) {
    EXPECT_EQ(plan.jobs[0].grants.at(worker).millicores, 200U);
  }
}

TEST_F(ClusterPlannerTest, WhoIsNotKnownToReadMayShowThatItDoes) {
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
TEST_F(ClusterPlannerTest, TheLimitsOfAllWorkersNeverExceedTheSourceOrATenantsQuota) {
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

TEST_F(ClusterPlannerTest, CachesAreGrantedOverTheWorkersOfAJob) {
  const WorkerId one = Worker(1, "pool", 3'000'000), two = Worker(1, "pool", 1'000'000);
  AddJob add;
  add.cache_bytes = 1'000'000'000;
  const JobId job = Job(add);
  AddSession session;
  session.job = job;
  session.session = SessionId(job.value);
  session.dataset = 77;
  session.rows = 10'000;
  Apply(session);
  const ClusterPlan plan = Plan();
  // The data set is larger than both caches together: each worker grants its whole cache.
  EXPECT_EQ(plan.jobs[0].grants.at(one).cache_bytes, 3'000'000u);
  EXPECT_EQ(plan.jobs[0].grants.at(two).cache_bytes, 1'000'000u);
}

TEST_F(ClusterPlannerTest, ACacheOfSeveralTiersIsGrantedByTier) {
  AddWorker worker;
  worker.token = "worker-token";
  worker.info.worker = state_.next_worker();
  worker.info.cores = 1;
  worker.info.host = {"pool", "pool", 0, 1};
  worker.info.cache_bytes = 3'000'000;
  worker.info.tiers = {{"memory", 1'000'000}, {"disk", 2'000'000}};
  Apply(worker);
  Report(worker.info.worker, {});
  AddJob add;
  add.cache_bytes = 2'500'000;
  const JobId job = Job(add);
  AddSession session;
  session.job = job;
  session.session = SessionId(job.value);
  session.dataset = 77;
  session.rows = 10'000;
  Apply(session);
  const ClusterPlan plan = Plan();
  const wire::JobGrant& grant = plan.jobs[0].grants.at(worker.info.worker);
  EXPECT_EQ(grant.cache_bytes, 2'500'000u);
  EXPECT_EQ(grant.tiers,
            (std::vector<wire::TierBytes>{{"memory", 1'000'000}, {"disk", 1'500'000}}));
}

TEST_F(ClusterPlannerTest, AJobThatNamesNoBoundGetsWhatItsDataTakes) {
  const WorkerId worker = Worker(1, "pool", 3'000'000'000);
  AddJob add;
  add.cache_bytes = wire::kNoCacheBound;
  const JobId job = Job(add);
  AddSession session;
  session.job = job;
  session.session = SessionId(1);
  session.dataset = 77;
  session.rows = 1000;
  Apply(session);
  // A guess of 600 kB a sample.
  EXPECT_NEAR(static_cast<double>(Plan().jobs[0].grants.at(worker).cache_bytes),
              1000 * 600e3 * 1.05, 1);
}

TEST_F(ClusterPlannerTest, AJobThatAskedForNoCacheGetsNone) {
  const WorkerId worker = Worker(1, "pool", 3'000'000);
  const JobId job = Job();
  AddSession session;
  session.job = job;
  session.session = SessionId(1);
  session.dataset = 77;
  session.rows = 10'000;
  Apply(session);
  EXPECT_EQ(Plan().jobs[0].grants.at(worker).cache_bytes, 0u);
}

TEST_F(ClusterPlannerTest, ASteadyClusterIsLeftAlone) {
  for (int i = 0; i < 5; ++i) Worker(3, i % 2 == 0 ? "home" : "pool");
  std::vector<JobId> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(Job());
  ClusterPlan last;
  for (int period = 0; period < 40; ++period) {
    for (const JobId job : jobs) Report(job, 100, 0.01 * static_cast<double>(job.value));
    EndPeriod();
    const ClusterPlan plan = Plan();
    if (period > 25) {
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        EXPECT_EQ(plan.jobs[i].grants, last.jobs[i].grants);
      }
    }
    last = plan;
  }
}

// A loop that only counts its batches takes millions of samples a second, and a client may report
// anything. No job asks for more than there is, and no other job loses its part of it.
TEST_F(ClusterPlannerTest, WhoAsksWithoutBoundTakesNobodysFloor) {
  rules_.policy = policies_.Find("fifo");
  Worker(8);
  const JobId boundless = Job(), modest = Job();
  Plan();
  for (const std::uint64_t samples : {std::uint64_t{5'000'000}, ~std::uint64_t{0} / 2}) {
    wire::SessionLoad load;
    load.session = SessionId(static_cast<std::int64_t>(samples % 1000));
    load.samples = load.miss_samples = samples;
    load.miss_cpu_ns = ~std::uint64_t{0} / 2;
    load.step_ns = 1;
    Apply(SeeConsumer{boundless, {}, {load}, true});
    Report(modest, 400, 0.01);  // 4 cores
    EndPeriod();
    const ClusterPlan plan = Plan();
    EXPECT_LE(Cores(plan.jobs[0]), 8);
    EXPECT_NEAR(Cores(plan.jobs[1]), 4 * 0.05, 0.01);
  }
}

TEST_F(ClusterPlannerTest, ACoordinatorThatHasJustBegunTakesNoCacheAway) {
  rules_.source_rate = 1e9;
  const WorkerId worker = Worker(8, "pool", 1'000'000'000);
  AddJob spec;
  spec.cache_bytes = 1'000'000'000;
  std::vector<JobId> jobs;
  for (std::uint64_t dataset : {1U, 2U}) {
    jobs.push_back(Job(spec));
    AddSession session;
    session.job = jobs.back();
    session.session = SessionId(jobs.back().value);
    session.dataset = dataset;
    session.rows = 10'000;
    Apply(session);
  }
  wire::JobUsage cached;
  cached.job = jobs[1];
  cached.cache_bytes = 900'000'000;
  cached.cache_entries = 9000;
  for (int period = 0; period < 10; ++period) {
    Report(jobs[0], 100, 0.001, 1e5);
    Report(jobs[1], 100, 0.02, 1e5);
    Report(worker, {cached});
    EndPeriod();
    Plan();
  }
  const auto quota = [&](std::size_t i) { return Plan().jobs[i].grants.at(worker).cache_bytes; };
  ASSERT_EQ(quota(1), 1'000'000'000u);
  State replayed;
  for (const Update& update : state_.Snapshot()) HR_CHECK(replayed.Apply(update).ok());
  state_ = replayed;
  EXPECT_EQ(quota(1), 1'000'000'000u) << "nobody has said yet what is cached";
  Report(worker, {cached});
  EXPECT_EQ(quota(1), 1'000'000'000u);
  EXPECT_EQ(quota(0), 0u);
}

}  // namespace
}  // namespace headrace::coordinator
