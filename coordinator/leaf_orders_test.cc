// `headrace datasets warm|pin|unpin|drop` of what Python stages keep.
#include "coordinator/data_sets_fixture.h"
#include "coordinator/leaf_caches.h"

namespace headrace::coordinator {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Action = wire::DatasetAction;

class LeafOrdersTest : public DataSetsTest {
 protected:
  // As Holds. Its lanes have looked for as many entries, and found all.
  void Keeps(WorkerId worker, JobId job, std::uint64_t bytes) {
    Holds(worker, job, bytes);
    auto& usage = beats_[worker].usage;
    if (bytes > 0) usage.back().cache_hits = usage.back().cache_entries;
  }
  void End(JobId job) {
    cluster_.Send(wire::CloseJob{.job = job});
    loads_.erase(job);
  }
  std::size_t Rows(const std::string& name) {
    const auto all = cluster_.Status().datasets;
    return static_cast<std::size_t>(std::ranges::count(all, name, &wire::DatasetStatus::name));
  }
};

TEST_F(LeafOrdersTest, TheyHaveANameWhileTheJobRunsAndAfterIt) {
  const WorkerId a = Worker("worker-token-a"), b = Worker("worker-token-b");
  const JobId job = Runs("train.py", "Photos");
  EXPECT_EQ(Rows("Photos"), 0U) << "nothing of it looks";
  Keeps(a, job, 20 * kMb);
  Keeps(b, job, 30 * kMb);
  Period();
  const wire::DatasetStatus running = Shown("Photos");
  EXPECT_EQ(running.form, "leaves");
  EXPECT_EQ(running.jobs, std::vector{job});
  EXPECT_THAT(running.parts, SizeIs(2));
  End(job);
  Period();
  const wire::DatasetStatus left = Shown("Photos");
  EXPECT_EQ(left.dataset, running.dataset);
  EXPECT_EQ(left.form, "leaves");
  EXPECT_EQ(left.phase, "no job");
  EXPECT_EQ(left.bytes, 50 * kMb);
  EXPECT_THAT(left.jobs, IsEmpty());
  ASSERT_THAT(left.parts, SizeIs(2));
  EXPECT_EQ(left.parts[1].entries, 300U);
  // A later run of the program adds to them.
  const JobId again = Runs("train.py", "Photos");
  Keeps(a, again, 5 * kMb);
  Period();
  EXPECT_EQ(Rows("Photos"), 1U);
  EXPECT_EQ(Shown("Photos").dataset, running.dataset);
  EXPECT_EQ(Shown("Photos").parts[0].entries, 250U);
  Holds(a, job, 0);
  Holds(b, job, 0);
  End(again);
  Holds(a, again, 0);
  Period();
  EXPECT_EQ(Rows("Photos"), 0U) << "nothing is left";
  EXPECT_EQ(Order(Action::kDrop, "Photos").status.code(), Code::kNotFound);
}

TEST_F(LeafOrdersTest, ProgramsAndUsersHaveTheirOwn) {
  const WorkerId worker = Worker("worker-token-a");
  const JobId first = Runs("train.py", "Photos"), second = Runs("other.py", "Photos"),
              third = Runs("train.py", "Photos", 1001), same = Runs("train.py", "Photos"),
              theirs = Runs("train.py", "Photos", 1000, "other tenant");
  const auto number = [&](JobId job) {
    return LeafNumberOf(cluster_.state, *cluster_.state.FindJob(job), "Photos");
  };
  EXPECT_EQ(std::set({number(first), number(second), number(third), number(theirs)}).size(), 4U);
  EXPECT_EQ(number(first), number(same));
  // Other loaders of the program keep there, too.
  OpenStage(first, "Validation", SessionId(first.value + 500));
  EXPECT_EQ(LeavesOf(cluster_.state, first)->name, "Photos");
  for (const auto& [id, session] : cluster_.state.FindJob(first)->sessions) {
    EXPECT_EQ(session.leaves, number(first)) << session.plan_name;
  }
  EXPECT_EQ(cluster_.state.datasets().all().size(), 4U);
  Keeps(worker, first, 10 * kMb);
  Keeps(worker, second, 10 * kMb);
  Period();
  const wire::DatasetOrdered two = Order(Action::kDrop, "Photos");
  EXPECT_EQ(two.status.code(), Code::kInvalidArgument);
  EXPECT_THAT(two.status.message(), HasSubstr(DatasetNumber(number(second))));
  EXPECT_TRUE(Order(Action::kDrop, DatasetNumber(number(second))).status.ok());
}

// A loader that runs natively has the job's entries. So there is one row of them, and one name.
TEST_F(LeafOrdersTest, AJobThatAlsoReadsANativeDataSetKeepsInThat) {
  const WorkerId worker = Worker("worker-token-a");
  const JobId job = Reads("native");
  OpenStage(job, "Photos", SessionId(job.value + 500));
  Keeps(worker, job, 10 * kMb);
  Period();
  EXPECT_EQ(Rows("native"), 1U);
  EXPECT_EQ(Rows("Photos"), 0U);
  // A bound by name is that of what it keeps now.
  EXPECT_EQ(LeavesOf(cluster_.state, job)->name, "Photos");
}

// What is cached of the data set is then as what ended jobs have left: it makes room for leaves, and comes back with its
// next loader if nobody needed it. In one account with the leaves it would stay, and they would have no room.
TEST_F(LeafOrdersTest, ADataSetWhoseLoaderHasClosedTakesNothingOfTheStagesQuota) {
  const WorkerId worker = Worker("worker-token-a");
  const JobId job = Reads("native");
  OpenStage(job, "Photos", SessionId(job.value + 500));
  Keeps(worker, job, 900 * kMb);
  const auto account = [&] { return cluster_.state.FindJob(job)->grants.at(worker).data_set; };
  Period();
  const std::uint64_t native = account();
  ASSERT_NE(native, 0U);
  cluster_.Send(wire::CloseSession{.job = job, .session = SessionId(job.value + 100)});
  Period();
  const std::uint64_t own = account();
  EXPECT_NE(own, 0U);
  EXPECT_NE(own, native);
  const JobId other = Runs("train.py", "Others");
  Period();
  EXPECT_EQ(account(), own) << "until it reads another data set";
  EXPECT_NE(cluster_.state.FindJob(other)->grants.at(worker).data_set, own);
  OpenAgain(job, "native", 1000);
  Period();
  EXPECT_EQ(account(), native);
  // What is pinned stays, as long as the job does.
  ASSERT_TRUE(Order(Action::kPin, "native").status.ok());
  cluster_.Send(wire::CloseSession{.job = job, .session = SessionId(job.value + 100)});
  Period();
  EXPECT_EQ(account(), native);
  // And so does what is pinned only now, which the job's own account would not protect.
  ASSERT_TRUE(Order(Action::kUnpin, "native").status.ok());
  Period();
  EXPECT_EQ(account(), own);
  ASSERT_TRUE(Order(Action::kPin, "native").status.ok());
  Period();
  EXPECT_EQ(account(), native);
  Period();
  EXPECT_EQ(account(), native);
}

TEST_F(LeafOrdersTest, ADropIsOfAllItsJobsAndSaysWhatThereIs) {
  const WorkerId worker = Worker("worker-token-a");
  const JobId ended = Runs("train.py", "Photos");
  Keeps(worker, ended, 200 * kMb);
  Period();
  End(ended);
  const JobId running = Runs("train.py", "Photos"), other = Runs("other.py", "Others");
  Keeps(worker, running, 100 * kMb);
  Keeps(worker, other, 100 * kMb);
  Period();
  const wire::DatasetOrdered done = Order(Action::kDrop, "Photos");
  ASSERT_TRUE(done.status.ok()) << done.status.ToString();
  EXPECT_THAT(done.text,
              HasSubstr("1 workers give up 0.3 GB of it; jobs that read it fill it again"));
  const wire::WorkerDirective told = Told(worker);
  ASSERT_THAT(told.drops, SizeIs(1));
  EXPECT_EQ(told.drops[0].jobs, (std::vector{ended, running}));
  EXPECT_EQ(Shown("Photos").dropping, 1U);
}

TEST_F(LeafOrdersTest, WarmSaysWhyItCannot) {
  const WorkerId worker = Worker("worker-token-a");
  const JobId job = Runs("train.py", "Photos");
  Keeps(worker, job, 100 * kMb);
  Period();
  for (const bool ended : {false, true}) {
    if (ended) End(job);
    const wire::DatasetOrdered refused = Order(Action::kWarm, "Photos");
    EXPECT_EQ(refused.status.code(), Code::kUnavailable);
    EXPECT_THAT(refused.status.message(), HasSubstr("each epoch of the program fills it. 0.1 GB"));
  }
  // Nor does a source that has a limit make a worker fill what it can't read.
  cluster_.rules.plan.source_rate = 1e9;
  Runs("train.py", "Photos");
  Period();
  Period();
  EXPECT_THAT(Told(worker).fills, IsEmpty());
}

TEST_F(LeafOrdersTest, APinKeepsWhatIsThereAndRoomForItBeforeOthers) {
  const WorkerId worker = Worker("worker-token-a", 1000 * kMb);
  const JobId first = Runs("train.py", "Photos");
  const wire::DatasetOrdered none = Order(Action::kPin, "Photos");
  EXPECT_THAT(none.status.message(), HasSubstr("nothing of it is cached yet"));
  Keeps(worker, first, 300 * kMb);
  Period();
  ASSERT_TRUE(Order(Action::kPin, "Photos").status.ok());
  EXPECT_TRUE(Shown("Photos").pinned);
  EXPECT_EQ(Order(Action::kDrop, "Photos").status.code(), Code::kInvalidArgument);
  // While it runs, whoever else wants the room.
  const JobId native = Reads("train", 100'000);
  for (std::uint64_t filled = 100; filled <= 700; filled += 100) {
    Period();
    Holds(worker, native, filled * kMb);
    Period();
  }
  EXPECT_GE(Quota(first), 300e6);
  EXPECT_LE(Quota(first), 350e6);
  EXPECT_GT(Quota(native), 600e6);
  // After its end.
  End(first);
  for (int i = 0; i < 3; ++i) Period();
  const auto kept = Told(worker).kept;
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].job, first);
  EXPECT_LE(Quota(native), 701e6) << "what stays is no room";
  EXPECT_GT(Quota(native), 600e6);
  // The next run has its part beside what is there.
  const JobId second = Runs("train.py", "Photos");
  Keeps(worker, second, 20 * kMb);
  for (int i = 0; i < 5; ++i) Period();
  EXPECT_LE(Quota(second) + Quota(native), 701e6);
  EXPECT_GE(Quota(second), 20e6);
  End(native);
  Holds(worker, native, 0);
  const JobId late = Reads("late", 100'000);
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_GT(Quota(late), 600e6) << "what is there counts once";
  ASSERT_TRUE(Order(Action::kUnpin, "Photos").status.ok());
  EXPECT_FALSE(Shown("Photos").pinned);
  Period();
  EXPECT_THAT(Told(worker).kept, IsEmpty());
}

// A pin of a size has its room before anything is there: then the first epoch is kept.
TEST_F(LeafOrdersTest, APinOfASizeHasItsRoomAtOnceAndNoMore) {
  const WorkerId worker = Worker("worker-token-a", 1000 * kMb);
  const JobId native = Reads("train", 100'000);
  for (int i = 0; i < 3; ++i) Period();
  const JobId job = Runs("train.py", "Photos");
  ASSERT_TRUE(Order(Action::kPin, "Photos", 400 * kMb).status.ok());
  for (int i = 0; i < 2; ++i) Period();
  EXPECT_NEAR(Quota(job), 400e6, 20e6);
  Holds(worker, native, 600 * kMb);
  Period();
  Period();
  EXPECT_NEAR(Quota(job), 400e6, 20e6) << "whatever the other one fills";
  const wire::DatasetOrdered refused = Order(Action::kPin, "Photos", 2000 * kMb);
  EXPECT_EQ(refused.status.code(), Code::kResourceExhausted);
  Keeps(worker, job, 500 * kMb);  // of a time without a pin
  Period();
  End(job);
  Period();
  const auto kept = Told(worker).kept;
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_NEAR(static_cast<double>(kept[0].bytes), 400e6, 1);
}

TEST_F(LeafOrdersTest, TwoRunsOfAProgramShareAPin) {
  const WorkerId worker = Worker("worker-token-a", 1000 * kMb);
  const JobId native = Reads("train", 100'000);
  const JobId one = Runs("train.py", "Photos"), two = Runs("train.py", "Photos");
  Keeps(worker, one, 10 * kMb);
  Keeps(worker, two, 10 * kMb);
  Period();
  ASSERT_TRUE(Order(Action::kPin, "Photos", 400 * kMb).status.ok());
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_NEAR(Quota(one), 200e6, 20e6);
  EXPECT_NEAR(Quota(two), 200e6, 20e6);
  EXPECT_GT(Quota(native), 500e6);
}

// Of what ended runs have left, each of those that run now has its part of the rest.
TEST_F(LeafOrdersTest, RunsShareWhatAPinHasBesideWhatIsLeft) {
  const WorkerId worker = Worker("worker-token-a", 1000 * kMb);
  const JobId ended = Runs("train.py", "Photos");
  Keeps(worker, ended, 400 * kMb);
  Period();
  ASSERT_TRUE(Order(Action::kPin, "Photos", 400 * kMb).status.ok());
  End(ended);
  const JobId native = Reads("train", 100'000);
  const JobId one = Runs("train.py", "Photos"), two = Runs("train.py", "Photos");
  for (const JobId job : {one, two}) Keeps(worker, job, 1 * kMb);
  for (int i = 0; i < 5; ++i) Period();
  EXPECT_LE(Quota(one) + Quota(two) + Quota(native), 600e6 + 2e6) << "400 MB of it are left";
}

// A bound by name holds for what policies plan and for what they leave over, of all its jobs together.
TEST_F(LeafOrdersTest, ABoundByNameHolds) {
  const WorkerId worker = Worker("worker-token-a", 1000 * kMb);
  const JobId one = Runs("train.py", "Photos"), two = Runs("train.py", "Photos"),
              other = Runs("other.py", "Others");
  for (const JobId job : {one, two, other}) Keeps(worker, job, 10 * kMb);
  Period();
  EXPECT_GT(Quota(one), 300e6);
  cluster_.rules.plan.dataset_bytes = {{"Photos", 150e6}};
  for (int i = 0; i < 3; ++i) Period();
  EXPECT_LE(Quota(one) + Quota(two), 150e6);
  EXPECT_GT(Quota(one), 50e6);
  EXPECT_GT(Quota(two), 50e6);
  EXPECT_GT(Quota(other), 800e6);
}

}  // namespace
}  // namespace headrace::coordinator
