#include <random>

#include "coordinator/data_sets_fixture.h"

// How quotas of data sets change as workers and trainers report, and what bounds them.
namespace headrace::coordinator {
namespace {

using Action = wire::DatasetAction;

class QuotaChangesTest : public DataSetsTest {};

// Jobs of one data set have their quotas together, whichever of them made the entries.
TEST_F(QuotaChangesTest, WhatSeveralJobsKeepTogetherShrinksAsOthersFill) {
  const WorkerId worker = Worker("worker-token-a", 100 * kMb);
  const JobId maker = Reads("old", 2000), second = Reads("old", 2000);
  Period();
  Period();
  EXPECT_GT(Quota(maker) + Quota(second), 90e6);
  Holds(worker, maker, static_cast<std::uint64_t>(Quota(maker) + Quota(second)));
  const JobId better = Reads("better", 300);
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_GT(Quota(better), 25e6);
  EXPECT_NEAR(Quota(maker) + Quota(second), 100e6 * 15 / 16, 8e6);
}

// Until then what is there is hit.
TEST_F(QuotaChangesTest, AQuotaShrinksAsTheOtherOneFills) {
  const WorkerId a = Worker("worker-token-a", 100 * kMb), b = Worker("worker-token-b", 100 * kMb);
  cpu_ns_of_period_ *= 6;
  const JobId old = Reads("old", 2000);
  Period();
  Period();
  for (const WorkerId id : {a, b}) {
    Holds(id, old, cluster_.state.FindJob(old)->grants.at(id).cache_bytes);
  }
  const double before = Quota(old);
  EXPECT_GT(before, 190e6);
  const JobId better = Reads("better", 1000);
  double last = before;
  for (std::uint64_t filled = 0; filled <= 40; filled += 10) {
    if (filled > 0) Holds(a, better, filled * kMb);
    if (filled > 0) Holds(b, better, filled * kMb);
    for (int i = 0; i < 3; ++i) Period();
    const auto& grants = cluster_.state.FindJob(old)->grants;
    for (const WorkerId id : {a, b}) {  // what it may have there is what is there
      Holds(id, old, std::min(grants.at(id).cache_bytes, 100 * kMb));
    }
    const double now = Quota(old);
    // Room for the other one's next reads, and no more.
    EXPECT_NEAR(now, 2 * (100 * 15 / 16 - static_cast<double>(filled)) * 1e6, 8e6) << filled;
    EXPECT_LT(now, last);
    EXPECT_EQ(grants.at(a).cache_bytes, grants.at(b).cache_bytes);  // owners stay
    last = now;
  }
  EXPECT_GT(Quota(better), 95e6);
}

// Owners have not equal parts. A quota that turns out to be too large takes nothing that is there.
TEST_F(QuotaChangesTest, AQuotaThatNobodyNeedsShrinksToWhatIsThere) {
  const WorkerId a = Worker("worker-token-a"), b = Worker("worker-token-b");
  cpu_ns_of_period_ *= 6;
  const JobId job = Reads("train", 2000);
  Period();
  Period();
  const double held = static_cast<double>(cluster_.state.FindJob(job)->grants.at(a).cache_bytes);
  EXPECT_GT(held, 300e6) << "nothing is there yet";
  Holds(a, job, 90 * kMb);
  Holds(b, job, 40 * kMb);
  beats_[a].usage[0].cache_entries = 1200;  // all of it takes 161 MB
  beats_[b].usage[0].cache_entries = 500;
  for (int i = 0; i < 5; ++i) Period();
  const auto& grants = cluster_.state.FindJob(job)->grants;
  EXPECT_NEAR(static_cast<double>(grants.at(a).cache_bytes), 90e6, 2e6);
  EXPECT_EQ(grants.at(a).cache_bytes, grants.at(b).cache_bytes);
}

// Between two loaders a job reads nothing. So do programs that make a loader for each epoch.
TEST_F(QuotaChangesTest, BetweenTwoLoadersAJobTakesNoRoomAndLosesNothing) {
  const WorkerId worker = Worker("worker-token-a", 1000 * kMb);
  const JobId job = Reads("train", 100'000);
  const auto held = [&] { return cluster_.state.FindJob(job)->grants.at(worker); };
  for (int i = 0; i < 3; ++i) Period();
  Holds(worker, job, held().cache_bytes);
  Period();
  const wire::JobGrant before = held();
  ASSERT_NE(before.data_set, 0U);
  ASSERT_GT(before.cache_bytes, 900 * kMb);
  EXPECT_FALSE(before.idle);
  cluster_.Send(wire::CloseSession{job, SessionId(job.value + 100)});
  ASSERT_TRUE(cluster_.state.FindJob(job)->sessions.empty());
  for (int i = 0; i < 3; ++i) {
    Period();
    EXPECT_TRUE(held().idle) << i;
    EXPECT_EQ(held().data_set, before.data_set) << i;
    EXPECT_EQ(held().cache_bytes, 0U) << i;
  }
  // Whoever reads the same, or something else, shares all the room.
  const JobId same = Reads("train", 100'000), other = Reads("other", 100'000);
  for (std::uint64_t filled = 100; filled <= 500; filled += 100) {  // as others fill (see above)
    Period();
    Holds(worker, job, (500 - filled) * kMb);
    Holds(worker, same, std::min<std::uint64_t>(filled, 450) * kMb);
    Holds(worker, other, std::min<std::uint64_t>(filled, 450) * kMb);
    Period();
  }
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_LE(Quota(same) + Quota(other), 1000e6);
  EXPECT_GT(Quota(same) + Quota(other), 900e6);
  EXPECT_EQ(held().cache_bytes, 0U);
  OpenAgain(job, "train", 100'000);
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_FALSE(held().idle);
  EXPECT_EQ(held().data_set, before.data_set);
  EXPECT_GT(held().cache_bytes, 0U);
}

// What is pinned stays, whoever wants the room.
TEST_F(QuotaChangesTest, APinHoldsBetweenTwoLoaders) {
  const WorkerId worker = Worker("worker-token-a", 1000 * kMb);
  const JobId job = Reads("train");
  for (int i = 0; i < 3; ++i) Period();
  Holds(worker, job, 900 * kMb);
  Period();
  ASSERT_TRUE(Order(Action::kPin, "train", 400 * kMb).status.ok());
  cluster_.Send(wire::CloseSession{job, SessionId(job.value + 100)});
  Period();
  const auto kept = Told(worker).kept;  // the rest goes
  ASSERT_THAT(kept, testing::SizeIs(1));
  EXPECT_EQ(kept[0].job, job);
  EXPECT_NEAR(static_cast<double>(kept[0].bytes), 400e6, 1);
  Holds(worker, job, kept[0].bytes);
  const JobId other = Reads("other", 100'000);
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_LE(Quota(other), 600e6) << "what stays is no room";
  EXPECT_GT(Quota(other), 500e6);
}

TEST_F(QuotaChangesTest, ABoundByNameHolds) {
  cluster_.rules.plan.dataset_bytes = {{"train", 50e6}};
  Worker("worker-token-a");
  const JobId job = Reads("train", 10'000), other = Reads("other", 1000);
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_NEAR(Quota(job), 50e6, 1e6);
  EXPECT_LE(Quota(job), 50e6);
  EXPECT_GT(Quota(other), 90e6);
}

// A quota that changes by little stays, but not where that exceeds a bound.
TEST_F(QuotaChangesTest, ABoundIsNotExceededByAWobble) {
  Tenant small;
  small.name = "small";
  small.quota.cache_bytes = 100e6;
  cluster_.rules.plan.tenants = {small};
  const WorkerId worker = Worker("worker-token-a");
  const JobId a = Reads("a", 1000, "small"), b = Reads("b", 3000, "small");
  for (const std::uint64_t bytes : {5'714'300, 5'630'000}) {  // 60 and 59.1 MB in all
    Holds(worker, a, bytes);
    beats_[worker].usage.back().cache_entries = 100;
    for (int i = 0; i < 4; ++i) Period();
    EXPECT_NEAR(Quota(a), static_cast<double>(bytes) * 10.5, 1e5);
    EXPECT_LE(Quota(a) + Quota(b), 100e6 + 1);
    EXPECT_GT(Quota(a) + Quota(b), 97e6);
  }
}

// Whatever comes, the quotas of a tenant's data sets are within its bound, and what is pinned is served
// first.
TEST_F(QuotaChangesTest, QuotasOfATenantAreNeverAboveItsBound) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const auto below = [&](unsigned n) { return static_cast<std::uint64_t>(rng() % n); };
    cluster_.state = State();
    beats_.clear();
    loads_.clear();
    std::map<std::string, double> bounds;
    cluster_.rules.plan.tenants.clear();
    for (const char* name : {"a", "b"}) {
      Tenant tenant;
      tenant.name = name;
      tenant.quota.cache_bytes = bounds[name] = static_cast<double>(10 + below(300)) * 1e6;
      cluster_.rules.plan.tenants.push_back(tenant);
    }
    std::vector<WorkerId> workers;
    for (std::uint64_t i = 0; i <= below(3); ++i) {
      workers.push_back(Worker("worker-token-" + std::to_string(i), (50 + below(400)) * kMb));
    }
    std::map<JobId, std::string> tenants, names;
    for (int step = 0; step < 25; ++step) {
      if (below(3) == 0 || tenants.empty()) {
        const std::string tenant = below(2) == 0 ? "a" : "b";
        const std::string name = tenant + std::to_string(below(3));
        const JobId job =
            Reads(name, static_cast<std::int64_t>(500 + 100 * (name.back() - '0')), tenant);
        tenants[job] = tenant;
        names[job] = name;
      }
      const JobId any = std::next(tenants.begin(),
                                  static_cast<long>(below(static_cast<unsigned>(tenants.size()))))
                            ->first;
      switch (below(5)) {
        case 0:
          Holds(workers[below(static_cast<unsigned>(workers.size()))], any, below(100) * kMb);
          break;
        case 1:
          if (cluster_.state.FindJob(any) != nullptr) {
            cluster_.Send(wire::CloseJob{.job = any});
          }
          break;
        case 2:
          (void)Order(Action::kPin, names[any], below(200) * kMb);
          break;
        case 3:
          (void)Order(Action::kUnpin, names[any]);
          break;
        default:
          break;
      }
      bytes_of_sample_ = static_cast<double>(1000 + below(100'000));
      Period();
      std::map<std::string, double> sums;
      for (const auto& [id, job] : cluster_.state.jobs()) {
        if (job.phase == Job::Phase::kRunning) sums[tenants[id]] += Quota(id);
      }
      for (const auto& [tenant, sum] : sums) EXPECT_LE(sum, bounds[tenant] + 1) << tenant;
    }
  }
}

// The job after it was granted a tenth of what was there, by the size of a file, and gave up the rest.
TEST_F(QuotaChangesTest, ANextJobKnowsTheSizeOfEntriesFromWhatAnEndedOneLeft) {
  const WorkerId worker = Worker("worker-token-a");
  const JobId job = Reads("train", 600);
  Period();
  Holds(worker, job, 600 * kMb);
  beats_[worker].usage.back().cache_entries = 600;  // 1 MB each; their files have 20 kB
  for (int i = 0; i < 3; ++i) Period();
  cluster_.Send(wire::CloseJob{.job = job});
  const JobId next = Reads("train", 600);
  for (int i = 0; i < 3; ++i) {
    Period();
    EXPECT_GE(Quota(next), 600e6);
  }
}

// Each worker may own more than its half of a data set, but their quotas are within its cache.
TEST_F(QuotaChangesTest, WhatOwnersMayHaveBeyondTheirPartIsWithinTheCache) {
  const WorkerId a = Worker("worker-token-a", 110 * kMb), b = Worker("worker-token-b", 110 * kMb);
  const std::vector<JobId> jobs = {Reads("one", 1000), Reads("two", 1000)};
  for (const WorkerId worker : {a, b}) {
    for (const JobId job : jobs) Holds(worker, job, 40 * kMb);
  }
  for (int i = 0; i < 4; ++i) Period();
  for (const WorkerId worker : {a, b}) {
    double sum = 0;
    for (const JobId job : jobs) {
      const auto& grant = cluster_.state.FindJob(job)->grants.at(worker);
      EXPECT_GT(grant.cache_bytes, 53 * kMb);  // half of 105 MB, and some of what else it may own
      sum += static_cast<double>(grant.cache_bytes);
    }
    EXPECT_LE(sum, 110e6 + 1);
  }
}

// A trainer reports the sizes of its files before its worker reports what it has filled.
TEST_F(QuotaChangesTest, WhatAWorkerHasFilledBeforeItsFirstReportStays) {
  const WorkerId worker = Worker("worker-token-a");
  cluster_.Send(beats_.at(worker));
  const JobId job = Reads("train", 600);
  const double first = Quota(job);
  EXPECT_GT(first, 350e6) << "nothing is measured";
  beats_.erase(worker);
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_GE(Quota(job), first * 15 / 16);
}

}  // namespace
}  // namespace headrace::coordinator
