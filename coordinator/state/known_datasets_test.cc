#include "coordinator/state/known_datasets.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "coordinator/state/state_test_util.h"

namespace headrace::coordinator {
namespace {

KnownDatasets Two() {
  KnownDatasets known;
  known.Begin(10, "train", "vision", 100, JobId(1));
  known.Begin(20, "val", "", 10, JobId(1));
  known.Begin(10, "train", "speech", 100, JobId(2));
  return known;
}

TEST(KnownDatasets, JobsAreRememberedAfterTheirEnd) {
  KnownDatasets known = Two();
  EXPECT_TRUE(known.EndedOf(10).empty());
  known.End(10, JobId(2));
  known.End(10, JobId(1));
  known.End(20, JobId(1));
  known.End(10, JobId(1));  // twice
  EXPECT_EQ(known.EndedOf(10), (std::vector{JobId(1), JobId(2)}));
  ASSERT_EQ(known.OfEnded(JobId(1)).size(), 2U);
  EXPECT_EQ(known.OfEnded(JobId(1))[1].second, 20U);
  EXPECT_TRUE(known.OfEnded(JobId(3)).empty());
  EXPECT_EQ(known.Find(10)->tenant, "speech");
  EXPECT_EQ(known.Find(30), nullptr);
}

TEST(KnownDatasets, TheOldestIsForgottenUnlessItIsPinned) {
  KnownDatasets known = Two();
  known.End(20, JobId(1));
  ASSERT_TRUE(known.Pin(10, 0).ok());
  for (std::uint64_t i = 0; i < KnownDatasets::kMost; ++i) {
    known.Begin(1000 + i, "more", "", 1, JobId(static_cast<std::int64_t>(10 + i)));
  }
  EXPECT_EQ(known.all().size(), KnownDatasets::kMost);
  EXPECT_NE(known.Find(10), nullptr);
  EXPECT_EQ(known.Find(20), nullptr);
  EXPECT_TRUE(known.OfEnded(JobId(1)).empty());
  known.End(20, JobId(5));
  EXPECT_TRUE(known.EndedOf(20).empty());
}

TEST(KnownDatasets, EndedJobsAreBounded) {
  KnownDatasets known = Two();
  for (std::size_t i = 0; i < KnownDatasets::kMostEnded + 5; ++i) {
    known.End(10, JobId(static_cast<std::int64_t>(i)));
  }
  EXPECT_EQ(known.EndedOf(10).size(), KnownDatasets::kMostEnded);
  EXPECT_EQ(known.EndedOf(10).front(), JobId(5));
}

TEST(KnownDatasets, PinsAreCountedAndBounded) {
  KnownDatasets known = Two();
  EXPECT_EQ(known.Pin(30, 0).code(), Code::kDataLoss);
  EXPECT_EQ(known.Unpin(30).code(), Code::kDataLoss);
  EXPECT_TRUE(known.Pin(10, 5).ok());
  EXPECT_TRUE(known.Pin(10, 7).ok());
  EXPECT_EQ(known.pinned(), 1U);
  EXPECT_EQ(known.Find(10)->pinned_bytes, 7U);
  EXPECT_TRUE(known.Unpin(10).ok());
  EXPECT_TRUE(known.Unpin(10).ok());
  EXPECT_FALSE(known.any_pinned());
  for (std::size_t i = 0; i < KnownDatasets::kMostPinned; ++i) {
    known.Begin(100 + i, "", "", 1, JobId(1));
    EXPECT_TRUE(known.Pin(100 + i, 0).ok());
  }
  EXPECT_EQ(known.Pin(20, 0).code(), Code::kDataLoss);
}

TEST(KnownDatasets, ADropStaysUntilEachWorkerHasDoneIt) {
  KnownDatasets known = Two();
  EXPECT_EQ(known.NextDrop(500), 500U);
  known.AddDrop({500, 10, {JobId(1)}, {WorkerId(1), WorkerId(2), WorkerId(3)}});
  EXPECT_EQ(known.NextDrop(400), 501U);  // the clock was set back
  known.AddDrop({501, 20, {JobId(1)}, {WorkerId(1)}});
  known.Dropped(WorkerId(1), 500);
  known.Dropped(WorkerId(2), 499);
  EXPECT_EQ(known.drops()[0].waiting, (std::set{WorkerId(2), WorkerId(3)}));
  known.Dropped(WorkerId(2), 501);
  known.Forget(WorkerId(3));
  ASSERT_EQ(known.drops().size(), 1U);
  EXPECT_EQ(known.drops()[0].number, 501U);
  for (std::uint64_t i = 0; i < 2 * KnownDatasets::kMostDrops; ++i) {
    known.AddDrop({600 + i, 10, {JobId(1)}, {WorkerId(1)}});
  }
  EXPECT_EQ(known.drops().size(), KnownDatasets::kMostDrops);
  known.AddDrop({999, 10, {JobId(1)}, {}});  // nobody has anything
  EXPECT_EQ(known.drops().size(), KnownDatasets::kMostDrops);
}

void ApplyAll(State& state, const std::vector<Update>& updates) {
  for (const Update& update : updates) ASSERT_TRUE(state.Apply(update).ok());
}

// A restart reads the journal, whole or compacted.
TEST(KnownDatasets, PinsAndEndedJobsComeBackFromTheJournal) {
  const auto job = [](std::int64_t id) {
    return AddJob{.job = JobId(id),
                  .consumer = ConsumerId(id),
                  .token = "token-" + std::to_string(id),
                  .tenant = "vision"};
  };
  const auto session = [](std::int64_t id, std::uint64_t dataset) {
    return AddSession{.job = JobId(id),
                      .session = SessionId(id * 10 + static_cast<std::int64_t>(dataset)),
                      .plan_name = "train",
                      .dataset = dataset,
                      .rows = 100};
  };
  State state;
  ApplyAll(state, {job(1), session(1, 7), RemoveSession{JobId(1), SessionId(17)}, job(2),
                   session(2, 7), session(2, 8), PinDataset{7, 1000}, PinDataset{8, 0},
                   UnpinDataset{8}, RemoveJob{JobId(1)}, RemoveSession{JobId(2), SessionId(28)}});
  State again;
  ApplyAll(again, state.Snapshot());
  for (const State* each : {&state, &again}) {
    EXPECT_EQ(each->datasets().EndedOf(7), std::vector{JobId(1)});
    EXPECT_TRUE(each->datasets().Find(7)->pinned);
    EXPECT_EQ(each->datasets().Find(7)->pinned_bytes, 1000U);
    EXPECT_FALSE(each->datasets().Find(8)->pinned);
    EXPECT_EQ(each->datasets().Find(7)->tenant, "vision");
    EXPECT_EQ(each->FindJob(JobId(2))->datasets, (std::set<std::uint64_t>{7, 8}));
  }
  ExpectSameState(again, state);
  EXPECT_EQ(state.Apply(PinDataset{99, 0}).code(), Code::kDataLoss);
}

// Later loaders of a job keep in the same data set, also where the journal was made shorter after the first has closed.
TEST(KnownDatasets, LeavesOfAJobAreOneDataSetNamedForItsFirstLoader) {
  const auto stage = [](std::int64_t id, const std::string& name) {
    return AddSession{.job = JobId(1), .session = SessionId(id), .plan_name = name, .leaves = 9};
  };
  State state;
  ApplyAll(state, {AddJob{.job = JobId(1), .consumer = ConsumerId(1), .token = "token-1"},
                   stage(1, "Train"), RemoveSession{JobId(1), SessionId(1)}, stage(2, "Val"),
                   PinDataset{9, 0}});
  State again;
  ApplyAll(again, state.Snapshot());
  for (const State* each : {&state, &again}) {
    const KnownDataset* known = each->datasets().Find(9);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->name, "Train");
    EXPECT_TRUE(known->leaves);
    EXPECT_TRUE(known->pinned);
    EXPECT_EQ(each->FindJob(JobId(1))->sessions.at(SessionId(2)).leaves, 9U);
    EXPECT_FALSE(each->FindJob(JobId(1))->has_dataset());
  }
  ExpectSameState(again, state);
  ApplyAll(again, {RemoveJob{JobId(1)}});
  EXPECT_EQ(again.datasets().EndedOf(9), std::vector{JobId(1)});
}

// A program that makes a loader for each part of its data. What a job is taken to read must not depend on whether its
// coordinator has begun anew meanwhile.
TEST(KnownDatasets, AJobOfManyDataSetsIsTheSameAfterAnySnapshot) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    State state;
    ApplyAll(state, {AddJob{.job = JobId(1), .consumer = ConsumerId(1), .token = "token-1"}});
    std::vector<SessionId> open;
    for (std::int64_t step = 1; step <= 60; ++step) {
      if (open.size() > random() % 30) {
        const std::size_t at = random() % open.size();
        ApplyAll(state, {RemoveSession{JobId(1), open[at]}});
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        AddSession add{.job = JobId(1), .session = SessionId(step)};
        const std::uint64_t dataset = 100 + random() % 40;
        add.plan_name = "part " + std::to_string(dataset);
        (dataset == 120 ? add.leaves : add.dataset) = dataset;
        add.rows = dataset == 120 ? 0 : static_cast<std::int64_t>(dataset % 7);
        ApplyAll(state, {add});
        open.push_back(add.session);
      }
      State again;
      ApplyAll(again, state.Snapshot());
      ASSERT_EQ(again.FindJob(JobId(1))->datasets, state.FindJob(JobId(1))->datasets) << step;
      ExpectSameState(again, state);
    }
  }
}

TEST(KnownDatasets, ManyDataSetsOfAJobTakeNeitherTheLargestNorItsLeaves) {
  const auto loader = [](std::int64_t id, std::int64_t rows) {
    return AddSession{.job = JobId(1),
                      .session = SessionId(id),
                      .dataset = static_cast<std::uint64_t>(100 + id),
                      .rows = rows};
  };
  State state;
  ApplyAll(state, {AddJob{.job = JobId(1), .consumer = ConsumerId(1), .token = "token-1"}});
  const auto opened_and_closed = [&](const AddSession& add) {
    ApplyAll(state, {add, RemoveSession{JobId(1), add.session}});
  };
  for (std::int64_t id = 1; id <= 20; ++id) opened_and_closed(loader(id, id));
  opened_and_closed(AddSession{.job = JobId(1), .session = SessionId(30), .leaves = 9});
  opened_and_closed(loader(40, 1000));
  for (std::int64_t id = 50; id < 70; ++id) opened_and_closed(loader(id, 5));
  const std::set<std::uint64_t>& datasets = state.FindJob(JobId(1))->datasets;
  EXPECT_EQ(datasets.size(), KnownDatasets::kMostOfJob);
  EXPECT_EQ(state.datasets().LargestOf(datasets), 140U);
  EXPECT_TRUE(datasets.contains(9)) << "the next stage would have a name of its own";
}

TEST(KnownDatasets, WarmEndsWithTheLastJobThatReadsIt) {
  State state;
  ApplyAll(state, {AddJob{.job = JobId(1), .consumer = ConsumerId(1), .token = "token-1"},
                   AddJob{.job = JobId(2), .consumer = ConsumerId(2), .token = "token-2"},
                   AddSession{.job = JobId(1), .session = SessionId(1), .dataset = 7},
                   AddSession{.job = JobId(2), .session = SessionId(2), .dataset = 7},
                   WarmDataset{7}, RemoveJob{JobId(1)}});
  EXPECT_TRUE(state.datasets().Find(7)->warm);
  ApplyAll(state, {RemoveJob{JobId(2)}});
  EXPECT_FALSE(state.datasets().Find(7)->warm);
}

TEST(KnownDatasets, WarmEndsWhenTheLastJobThatReadItForgetsIt) {
  State state;
  const auto read = [&](JobId job, std::int64_t id, std::uint64_t dataset, std::int64_t rows) {
    ApplyAll(state,
             {AddSession{.job = job, .session = SessionId(id), .dataset = dataset, .rows = rows},
              RemoveSession{job, SessionId(id)}});
  };
  ApplyAll(state, {AddJob{.job = JobId(1), .consumer = ConsumerId(1), .token = "token-1"},
                   AddJob{.job = JobId(2), .consumer = ConsumerId(2), .token = "token-2"}});
  for (const JobId job : {JobId(1), JobId(2)}) read(job, 1, 7, 1);
  ApplyAll(state, {WarmDataset{7}});
  for (const JobId job : {JobId(1), JobId(2)}) {
    EXPECT_TRUE(state.datasets().Find(7)->warm) << "a job remembers it";
    for (std::int64_t id = 2; id < 19; ++id) {
      read(job, id, static_cast<std::uint64_t>(100 + id), 100 + id);
    }
    EXPECT_FALSE(state.FindJob(job)->datasets.contains(7));
  }
  EXPECT_FALSE(state.datasets().Find(7)->warm);
}

}  // namespace
}  // namespace headrace::coordinator
