#include "coordinator/cluster_planner_fixture.h"
#include "coordinator/step.h"

namespace headrace::coordinator {
namespace {

using testing::SizeIs;

// Two ranks of one host share its worker, which counts once.
TEST_F(ClusterPlannerTest, WhoWaitsIsToldThatItsPriceKeepsThePoolSmall) {
  AddWorker local;
  local.token = "worker-token-local";
  local.info.worker = state_.next_worker();
  local.info.cores = 4;
  local.info.host = {"home", "home", 0, 2};
  local.info.local = true;
  Apply(local);
  AddJob rank;
  rank.group = "program";
  const JobId first = Job(rank), second = Job(rank);
  for (int i = 1; i <= 30; ++i) {
    for (const JobId job : {first, second}) {
      wire::SessionLoad load{.session = SessionId(job.value)};
      const auto n = static_cast<std::uint64_t>(i);
      load.samples = load.miss_samples = 200 * n;
      load.batches = 20 * n;
      load.step_ns = 500'000'000 * n;
      load.stall_ns = load.wait_compute_ns = 500'000'000 * n;
      load.miss_cpu_ns = 2'000'000'000 * n;
      Apply(SeeConsumer{job, {}, {load}, true});
    }
    EndPeriod();
    Plan();
  }
  const auto advice = [&](double gpu, double next = 0) {
    Rules rules;
    rules.plan = rules_;
    rules.plan.prices = {.gpu = gpu, .core = 0.04};  // its own cores would cost 0.16
    const Moment moment{.next_core_price = next};
    return DescribeCluster(rules, state_, {}, moment).jobs.at(0).advice;
  };
  EXPECT_THAT(advice(0.07), testing::HasSubstr("its 2 GPUs cost 0.14 an hour, less than its own 4 "
                                               "cores would, 0.16"));
  EXPECT_THAT(advice(0.09),
              testing::AllOf(testing::HasSubstr("waits"), testing::Not(testing::HasSubstr("GPU"))));
  EXPECT_THAT(advice(0.09, 0.05), testing::HasSubstr("cores would, 0.2"))
      << "where the next worker would come from a dearer pool";
}

// A job that could use 8 cores, and has 4 of its own: 4 are bought, or none.
TEST_F(ClusterPlannerTest, APoolGrowsWhereAGpuCostsMoreThanTheJobsOwnCores) {
  AddWorker local;
  local.token = "worker-token-local";
  local.info.worker = state_.next_worker();
  local.info.cores = 4;
  local.info.host = {"home", "home", 0, 2};
  local.info.local = true;
  Apply(local);
  const JobId job = Job();
  for (int i = 0; i < 20; ++i) {
    Report(job, 800, 0.01);
    EndPeriod();
  }
  const double demand = Plan().demand_cores;
  EXPECT_NEAR(demand, 4, 0.5);
  rules_.prices = {.gpu = 0.17, .core = 0.04};  // its own cores would cost 0.16
  EXPECT_DOUBLE_EQ(Plan().demand_cores, demand);
  rules_.dearer_core_prices = {0.042, 0.05};  // 0.168, 0.2
  const ClusterPlan plan = Plan();
  EXPECT_DOUBLE_EQ(plan.demand_cores, demand);
  EXPECT_THAT(plan.dearer_demand_cores, testing::ElementsAre(demand, 0));
  rules_.prices.gpu = 0.15;
  EXPECT_DOUBLE_EQ(Plan().demand_cores, 0);
  Apply(MarkWorkerLost{local.info.worker});  // now it has none of its own
  EXPECT_NEAR(Plan().demand_cores, 8, 0.5);
}

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
TEST_F(ClusterPlannerTest, WhoAsksWithoutBoundTakesNobodysShare) {
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
    EXPECT_NEAR(Cores(plan.jobs[1]), 4, 0.01) << "its fair share";
  }
}

// Four entries lie in four chunks of a cache that are empty but for them. The job would need the whole
// cache twelve times, were that what its entries take, and get nothing: it would never be known better.
TEST_F(ClusterPlannerTest, RoomThatIsKeptForMoreEntriesMakesNoneOfThemLarger) {
  rules_.source_rate = 1e7;
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
    session.rows = 3000;
    Apply(session);
  }
  std::vector<wire::JobUsage> cached(2);
  for (std::size_t i = 0; i < 2; ++i) cached[i].job = jobs[i];
  cached[0].cache_bytes = 16 << 20;
  cached[0].cache_entries = 4;
  cached[0].cache_entry_bytes = 4 * 300'000;
  cached[1].cache_bytes = cached[1].cache_entry_bytes = 100 * 300'000;
  cached[1].cache_entries = 100;
  for (int period = 0; period < 10; ++period) {
    Report(jobs[0], 400, 0.001, 1e5);
    Report(jobs[1], 100, 0.001, 1e5);
    Report(worker, cached);
    EndPeriod();
    Plan();
  }
  const ClusterPlan plan = Plan();
  const auto quota = [&](std::size_t i) { return plan.jobs[i].grants.at(worker).cache_bytes; };
  EXPECT_GT(quota(0), 900'000'000U) << "it takes four times as much of the source";
  EXPECT_LT(quota(1), 100'000'000U);
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
  wire::JobUsage cached, nothing;
  nothing.job = jobs[0];
  cached.job = jobs[1];
  cached.cache_bytes = 900'000'000;
  cached.cache_entries = 9000;
  for (int period = 0; period < 10; ++period) {
    Report(jobs[0], 100, 0.001, 1e5);
    Report(jobs[1], 100, 0.02, 1e5);
    Report(worker, {nothing, cached});
    EndPeriod();
    Plan();
  }
  const auto quota = [&](std::size_t i) { return Plan().jobs[i].grants.at(worker).cache_bytes; };
  // Almost all: a share of the other's worth is a few bytes.
  ASSERT_NEAR(static_cast<double>(quota(1)), 1e9, 100);
  State replayed;
  for (const Update& update : state_.Snapshot()) HR_CHECK(replayed.Apply(update).ok());
  state_ = replayed;
  EXPECT_NEAR(static_cast<double>(quota(1)), 1e9, 100) << "nobody has said yet what is cached";
  Report(worker, {nothing, cached});
  EXPECT_NEAR(static_cast<double>(quota(1)), 1e9, 100);
  cached.cache_bytes = 1'000'000'000;
  Report(worker, {nothing, cached});
  EXPECT_LT(quota(0), 100u) << "until then it could fill what is free";
}

// A tenth of a core is 100 millicores for each, also where it is a little more for the arithmetic.
TEST_F(ClusterPlannerTest, EqualJobsHaveEqualMillicores) {
  rules_.policy = policies_.Find("fifo");
  Worker(1);
  std::vector<JobId> jobs;
  for (int i = 0; i < 10; ++i) jobs.push_back(Job());
  for (int second = 0; second < 3; ++second) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Report(jobs[i], 1000 + 7 * static_cast<double>(i), 0.011);
    }
    EndPeriod();
  }
  for (const JobPlan& each : Plan().jobs) {
    EXPECT_NEAR(Cores(each), 0.1, 1e-9) << "job " << each.job.value;
  }
}

}  // namespace
}  // namespace headrace::coordinator
