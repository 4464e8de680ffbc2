#include "coordinator/dataset_orders.h"

#include "coordinator/data_sets_fixture.h"

// `headrace datasets warm|pin|unpin|drop`: from the order to what workers are told and keep.
namespace headrace::coordinator {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Action = wire::DatasetAction;

class DatasetOrdersTest : public DataSetsTest {};

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

}  // namespace
}  // namespace headrace::coordinator
