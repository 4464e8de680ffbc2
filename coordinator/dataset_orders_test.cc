// This file is long because orders, pins, quotas and bounds are seen in the same clusters.
#include "coordinator/dataset_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "coordinator/step_test_util.h"

// `headrace datasets warm|pin|unpin|drop`: from the order to what workers are told and keep.
namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Action = wire::DatasetAction;

constexpr std::uint64_t kMb = 1'000'000;

class DatasetOrdersTest : public testing::Test {
 protected:
  DatasetOrdersTest() { cluster_.rules.plan.policy = policies_.Find("utilization"); }
  static PolicyRegistry Builtin() {
    PolicyRegistry registry;
    RegisterPolicies(registry);
    return registry;
  }

  WorkerId Worker(const std::string& token, std::uint64_t cache_bytes = 1000 * kMb) {
    wire::RegisterWorker m;
    m.token = token;
    m.info.endpoints = {"ipc:///run/headrace/" + token};
    m.info.host = {"node1", "boot1", 1000, 6};
    m.info.cores = 4;
    m.info.version = cluster_.version;
    m.info.cache_bytes = cache_bytes;
    const WorkerId id = cluster_.Ask<wire::WorkerRegistered>(m).worker;
    beats_[id].worker = id;
    return id;
  }
  // Opens a job that reads `rows` samples called `name`.
  JobId Reads(const std::string& name, std::int64_t rows = 1000, const std::string& tenant = "") {
    wire::OpenJob open;
    open.token = "token-of-job-" + std::to_string(++opened_);
    open.host = {"node1", "boot1", 1000, 5};
    open.version = cluster_.version;
    open.tenant = tenant;
    open.cache_bytes = wire::kNoCacheBound;
    const JobId job = cluster_.Ask<wire::JobOpened>(open).job;
    wire::OpenSession session;
    session.job = job;
    session.session = SessionId(job.value + 100);
    session.plan = SmallPlan();
    session.plan.name = name;
    session.plan.leaves[0].rows = rows;
    session.plan.leaves[0].table =
        BlobHash(static_cast<std::int64_t>(std::hash<std::string>()(name) >> 2));
    HR_CHECK(cluster_.Ask<wire::SessionOpened>(session).status.ok());
    return job;
  }
  // What the worker has of the job, in its next heartbeats.
  void Holds(WorkerId worker, JobId job, std::uint64_t bytes) {
    auto& usage = beats_[worker].usage;
    std::erase_if(usage, [&](const auto& each) { return each.job == job; });
    if (bytes > 0) {
      usage.push_back({.job = job, .cache_bytes = bytes, .cache_entries = bytes / 100'000});
    }
  }
  // A control period in which each trainer takes 100 samples/s and each worker reports.
  void Period() {
    cluster_.Advance(seconds(1));
    for (const auto& [id, job] : cluster_.state.jobs()) {
      wire::SessionLoad& load = loads_[id];
      load.session = SessionId(id.value + 100);
      load.samples += 100;
      load.miss_samples += 100;
      load.step_ns += 500'000'000;
      load.stall_ns += 500'000'000;
      load.wait_compute_ns = load.stall_ns;
      load.miss_cpu_ns += cpu_ns_of_period_;
      load.source_bytes += static_cast<std::uint64_t>(100 * bytes_of_sample_);
      cluster_.Send(wire::ConsumerHeartbeat{1, id, job.spec.consumer, {load}, {}});
    }
    for (auto& [id, beat] : beats_) {
      for (const JobId job : cluster_.state.FindWorker(id)->jobs) {  // their sessions are attached
        const bool told =
            std::ranges::find(beat.usage, job, &wire::JobUsage::job) != beat.usage.end();
        if (!told) beat.usage.push_back({.job = job});
      }
      cluster_.Send(beat);
    }
    cluster_.Tick();
  }
  wire::DatasetOrdered Order(Action action, const std::string& name, std::uint64_t bytes = 0) {
    return cluster_.Ask<wire::DatasetOrdered>(
        wire::DatasetOrder{.request = 5, .action = action, .name = name, .bytes = bytes});
  }
  // The answer to its second heartbeat: what the first one says counts from then on.
  wire::WorkerDirective Told(WorkerId worker) {
    cluster_.Send(beats_.at(worker));
    return cluster_.Ask<wire::WorkerDirective>(beats_.at(worker));
  }
  wire::DatasetStatus Shown(const std::string& name) {
    for (wire::DatasetStatus& each : cluster_.Status().datasets) {
      if (each.name == name) return each;
    }
    ADD_FAILURE() << name << " is not shown";
    return {};
  }
  double Quota(JobId job) {
    double sum = 0;
    for (const auto& [id, grant] : cluster_.state.FindJob(job)->grants) {
      sum += static_cast<double>(grant.cache_bytes);
    }
    return sum;
  }

  PolicyRegistry policies_ = Builtin();
  Cluster cluster_;
  std::map<WorkerId, wire::WorkerHeartbeat> beats_;
  std::map<JobId, wire::SessionLoad> loads_;
  double bytes_of_sample_ = 20'000;
  std::uint64_t cpu_ns_of_period_ = 1'000'000'000;
  int opened_ = 0;
};

TEST_F(DatasetOrdersTest, UnknownAndAmbiguousNamesAreRefused) {
  const WorkerId worker = Worker("worker-token-a");
  Reads("a");
  EXPECT_EQ(Order(Action::kDrop, "b").status.code(), Code::kNotFound);
  EXPECT_THAT(Order(Action::kDrop, "b\n").status.message(), HasSubstr("no data set b\\x0a"));
  EXPECT_EQ(Order(Action::kUnknown, "a").status.code(), Code::kInvalidArgument);
  Reads("a", 2000);  // another one of that name
  const wire::DatasetOrdered two = Order(Action::kDrop, "a");
  EXPECT_EQ(two.status.code(), Code::kInvalidArgument);
  EXPECT_THAT(two.status.message(), HasSubstr("2 data sets are called a"));
  EXPECT_THAT(Told(worker).drops, IsEmpty());
  const std::string number = DatasetNumber(Shown("a").dataset);
  EXPECT_THAT(two.status.message(), HasSubstr(number));
  const wire::DatasetOrdered one = Order(Action::kDrop, number);
  EXPECT_TRUE(one.status.ok());
  EXPECT_EQ(one.request, 5U);
  EXPECT_EQ(one.name, "a");
}

TEST_F(DatasetOrdersTest, ADropIsToldAtOnceAndUntilEachWorkerHasDoneIt) {
  const WorkerId a = Worker("worker-token-a"), b = Worker("worker-token-b");
  const JobId ended = Reads("train");
  Holds(a, ended, 300 * kMb);
  Period();
  cluster_.Send(wire::CloseJob{.job = ended});
  const JobId running = Reads("train"), other = Reads("val");
  Holds(b, running, 100 * kMb);
  Holds(b, other, 100 * kMb);
  Period();
  const wire::DatasetOrdered done = Order(Action::kDrop, "train");
  ASSERT_TRUE(done.status.ok()) << done.status.ToString();
  EXPECT_EQ(done.workers, 2U);
  EXPECT_THAT(done.text, HasSubstr("2 workers give up 0.4 GB"));
  std::set<WorkerId> pushed;
  for (const Push& push : cluster_.last.pushes) {
    const auto* directive = std::get_if<wire::WorkerDirective>(&push.body);
    if (directive != nullptr && !directive->drops.empty()) {
      pushed.insert(std::get<WorkerId>(push.to));
    }
  }
  EXPECT_EQ(pushed, (std::set{a, b}));
  const wire::WorkerDirective told = Told(a);
  ASSERT_THAT(told.drops, SizeIs(1));
  EXPECT_EQ(told.drops[0].jobs, (std::vector{ended, running}));
  EXPECT_EQ(Shown("train").dropping, 2U);
  beats_[a].dropped = told.drops[0].number;
  EXPECT_THAT(Told(a).drops, IsEmpty());
  EXPECT_THAT(Told(b).drops, SizeIs(1));
  EXPECT_EQ(Shown("train").dropping, 1U);
  beats_[b].dropped = told.drops[0].number;
  Period();
  EXPECT_EQ(Shown("train").dropping, 0U);
}

TEST_F(DatasetOrdersTest, WhatEndedJobsHaveLeftIsShown) {
  const WorkerId worker = Worker("worker-token-a");
  const JobId job = Reads("train");
  Holds(worker, job, 200 * kMb);
  Period();
  EXPECT_THAT(Shown("train").jobs, SizeIs(1));
  cluster_.Send(wire::CloseJob{.job = job});
  const wire::DatasetStatus left = Shown("train");
  EXPECT_THAT(left.jobs, IsEmpty());
  EXPECT_EQ(left.phase, "no job");
  ASSERT_THAT(left.parts, SizeIs(1));
  EXPECT_EQ(left.parts[0].bytes, 200 * kMb);
  Holds(worker, job, 0);
  Period();
  EXPECT_THAT(cluster_.Status().datasets, IsEmpty());
}

TEST_F(DatasetOrdersTest, WarmNeedsAJobAndIsFilledByItsWorkersInParts) {
  const WorkerId a = Worker("worker-token-a"), b = Worker("worker-token-b");
  const JobId job = Reads("train");
  cpu_ns_of_period_ *= 6;  // more than one worker has
  Period();
  Period();
  EXPECT_THAT(Told(a).fills, IsEmpty());  // nobody asked
  EXPECT_TRUE(Order(Action::kWarm, "train").status.ok());
  EXPECT_TRUE(Shown("train").warm);
  for (const auto& [worker, part] : std::map<WorkerId, std::uint32_t>{{a, 0}, {b, 1}}) {
    const wire::WorkerDirective told = Told(worker);
    ASSERT_THAT(told.fills, SizeIs(1));
    EXPECT_EQ(told.fills[0].job, job);
    EXPECT_EQ(told.fills[0].bytes_per_second, wire::FillOrder::kNoBound);
    EXPECT_EQ(told.fills[0].part, part);
    EXPECT_EQ(told.fills[0].parts, 2U);
  }
  // What is full is not filled.
  Holds(a, job, cluster_.state.FindJob(job)->grants.at(a).cache_bytes);
  EXPECT_THAT(Told(a).fills, IsEmpty());
  EXPECT_THAT(Told(b).fills, SizeIs(1));
  // Workers that do not share such small entries fill for themselves.
  Holds(b, job, kMb);
  beats_[b].usage[0].cache_entries = 100;
  EXPECT_EQ(Told(b).fills[0].parts, 1U);
  cluster_.Send(wire::CloseJob{.job = job});
  const wire::DatasetOrdered refused = Order(Action::kWarm, "train");
  EXPECT_EQ(refused.status.code(), Code::kUnavailable);
  EXPECT_THAT(refused.status.message(), HasSubstr("no job reads it now"));
}

// It keeps samples for the job, and knows nothing of them.
TEST_F(DatasetOrdersTest, AWorkerWithoutALeaseFillsNothing) {
  const WorkerId a = Worker("worker-token-a"), b = Worker("worker-token-b");
  const JobId job = Reads("train");
  Period();
  Period();
  EXPECT_TRUE(Order(Action::kWarm, "train").status.ok());
  const Job& reader = *cluster_.state.FindJob(job);
  ASSERT_EQ(reader.leases.size(), 1U);
  const WorkerId leased = *reader.leases.begin(), other = leased == a ? b : a;
  EXPECT_GT(reader.grants.at(other).cache_bytes, 0U);
  ASSERT_THAT(Told(leased).fills, SizeIs(1));
  EXPECT_EQ(Told(leased).fills[0].parts, 1U);
  EXPECT_THAT(Told(other).fills, IsEmpty());
}

// Jobs of one data set have their quotas together, whichever of them made the entries.
TEST_F(DatasetOrdersTest, WhatSeveralJobsKeepTogetherShrinksAsOthersFill) {
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

TEST_F(DatasetOrdersTest, FillsTakeWhatIsIdleOfALimitedSource) {
  cluster_.rules.plan.source_rate = 10e6;
  const WorkerId worker = Worker("worker-token-a");
  Reads("train");
  Period();
  Period();
  // 100 samples/s of 20 kB are read: 2 of 10 MB/s.
  ASSERT_THAT(Told(worker).fills, SizeIs(1));  // without an order: idle bandwidth is known
  EXPECT_NEAR(static_cast<double>(Told(worker).fills[0].bytes_per_second), 8e6, 0.1e6);
  bytes_of_sample_ = 200'000;  // more than there is
  for (int i = 0; i < 40; ++i) Period();
  EXPECT_THAT(Told(worker).fills, IsEmpty());
}

TEST_F(DatasetOrdersTest, APinnedDataSetKeepsItsQuotaAgainstOneOfMoreWorth) {
  const WorkerId worker = Worker("worker-token-a", 100 * kMb);
  const JobId pinned = Reads("pinned", 1000);
  Period();
  Period();
  const double before = Quota(pinned);
  EXPECT_GT(before, 90e6);
  Holds(worker, pinned, static_cast<std::uint64_t>(before));
  const JobId better = Reads("better", 100);  // ten times as much for each byte
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_LT(Quota(pinned), 0.95 * before);
  EXPECT_TRUE(Order(Action::kPin, "pinned", 95 * kMb).status.ok());
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_GE(Quota(pinned), 94e6);
  EXPECT_LE(Quota(better), 6e6);
  EXPECT_THAT(Told(worker).kept, SizeIs(1));
  EXPECT_TRUE(Order(Action::kUnpin, "pinned").status.ok());
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_GT(Quota(better), 6e6);
  EXPECT_THAT(Told(worker).kept, IsEmpty());
}

TEST_F(DatasetOrdersTest, WhatIsPinnedStaysAfterItsJobAndIsNoRoomForOthers) {
  const WorkerId worker = Worker("worker-token-a", 100 * kMb);
  const JobId job = Reads("pinned", 1000);
  Period();
  Holds(worker, job, 60 * kMb);
  EXPECT_TRUE(Order(Action::kPin, "pinned", 60 * kMb).status.ok());
  cluster_.Send(wire::CloseJob{.job = job});
  const JobId other = Reads("other", 10'000);
  for (int i = 0; i < 3; ++i) Period();
  ASSERT_THAT(Told(worker).kept, SizeIs(1));
  EXPECT_EQ(Told(worker).kept[0].job, job);
  EXPECT_EQ(Told(worker).kept[0].bytes, 60 * kMb);
  EXPECT_NEAR(Quota(other), 40e6, 1e6);
  EXPECT_EQ(Shown("pinned").phase, "no job");
  EXPECT_TRUE(Shown("pinned").pinned);
  EXPECT_EQ(Order(Action::kDrop, "pinned").status.code(), Code::kInvalidArgument);
  // A smaller pin gives up the rest.
  EXPECT_TRUE(Order(Action::kPin, "pinned", 30 * kMb).status.ok());
  EXPECT_EQ(Told(worker).kept[0].bytes, 30 * kMb);
  EXPECT_TRUE(Order(Action::kUnpin, "pinned").status.ok());
  EXPECT_THAT(Told(worker).kept, IsEmpty());
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_NEAR(Quota(other), 100e6, 3e6);
}

TEST_F(DatasetOrdersTest, ARestartedCoordinatorKeepsWhatIsPinned) {
  const WorkerId worker = Worker("worker-token-a");
  const JobId ended = Reads("pinned");
  Holds(worker, ended, 60 * kMb);
  Period();
  cluster_.Send(wire::CloseJob{.job = ended});
  EXPECT_TRUE(Order(Action::kPin, "pinned").status.ok());
  State replayed;
  for (const Update& update : cluster_.state.Snapshot()) ASSERT_TRUE(replayed.Apply(update).ok());
  cluster_.state = std::move(replayed);
  // Before the worker has said what it has, and when it has.
  cluster_.Send(wire::DatasetOrder{.action = Action::kPin, .name = "pinned", .bytes = kMb});
  for (const Push& push : cluster_.last.pushes) {
    if (push.to == std::variant<JobId, WorkerId>(worker)) {
      EXPECT_THAT(std::get<wire::WorkerDirective>(push.body).kept,
                  testing::ElementsAre(wire::KeptJob{ended}));
    }
  }
  EXPECT_THAT(Told(worker).kept, SizeIs(1));
  EXPECT_TRUE(Shown("pinned").pinned);
}

TEST_F(DatasetOrdersTest, PinsAreWithinTheTenantsQuotaAndTheCaches) {
  Tenant small;
  small.name = "small";
  small.quota.cache_bytes = 100e6;
  cluster_.rules.plan.tenants = {small};
  const WorkerId worker = Worker("worker-token-a", 300 * kMb);
  const JobId a = Reads("a", 1000, "small"), b = Reads("b", 1000, "small"), c = Reads("c");
  Period();
  for (const JobId job : {a, b, c}) Holds(worker, job, 10 * kMb);
  const wire::DatasetOrdered all = Order(Action::kPin, "a");  // 105 MB
  EXPECT_EQ(all.status.code(), Code::kResourceExhausted);
  EXPECT_THAT(all.status.message(), HasSubstr("tenant small would have 0.105 GB pinned"));
  EXPECT_TRUE(Order(Action::kPin, "a", 70 * kMb).status.ok());
  EXPECT_EQ(Order(Action::kPin, "b", 40 * kMb).status.code(), Code::kResourceExhausted);
  EXPECT_TRUE(Order(Action::kPin, "b", 30 * kMb).status.ok());
  const wire::DatasetOrdered more = Order(Action::kPin, "c", 250 * kMb);
  EXPECT_EQ(more.status.code(), Code::kResourceExhausted);
  EXPECT_THAT(more.status.message(), HasSubstr("the workers' caches have 0.3 GB"));
  EXPECT_TRUE(Order(Action::kPin, "c", 150 * kMb).status.ok());
  EXPECT_TRUE(Order(Action::kPin, "c", 100 * kMb).status.ok());  // in place of it
}

// Until then what is there is hit.
TEST_F(DatasetOrdersTest, AQuotaShrinksAsTheOtherOneFills) {
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
TEST_F(DatasetOrdersTest, AQuotaThatNobodyNeedsShrinksToWhatIsThere) {
  const WorkerId a = Worker("worker-token-a"), b = Worker("worker-token-b");
  cpu_ns_of_period_ *= 6;
  const JobId job = Reads("train", 2000);
  Period();
  Period();
  const double held = static_cast<double>(cluster_.state.FindJob(job)->grants.at(a).cache_bytes);
  EXPECT_NEAR(held, 105e6 + 9.7e6,
              1e6);  // of 210 MB, by a guess, and what it may own beyond a half
  Holds(a, job, 90 * kMb);
  Holds(b, job, 40 * kMb);
  beats_[a].usage[0].cache_entries = 1200;  // all of it takes 161 MB
  beats_[b].usage[0].cache_entries = 500;
  for (int i = 0; i < 5; ++i) Period();
  const auto& grants = cluster_.state.FindJob(job)->grants;
  EXPECT_NEAR(static_cast<double>(grants.at(a).cache_bytes), 90e6, 2e6);
  EXPECT_EQ(grants.at(a).cache_bytes, grants.at(b).cache_bytes);
}

TEST_F(DatasetOrdersTest, ABoundByNameHolds) {
  cluster_.rules.plan.dataset_bytes = {{"train", 50e6}};
  Worker("worker-token-a");
  const JobId job = Reads("train", 10'000), other = Reads("other", 1000);
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_NEAR(Quota(job), 50e6, 1e6);
  EXPECT_LE(Quota(job), 50e6);
  EXPECT_GT(Quota(other), 90e6);
}

// A quota that changes by little stays, but not where that exceeds a bound.
TEST_F(DatasetOrdersTest, ABoundIsNotExceededByAWobble) {
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
TEST_F(DatasetOrdersTest, QuotasOfATenantAreNeverAboveItsBound) {
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

}  // namespace
}  // namespace headrace::coordinator
