#include "coordinator/state/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/state/journal_codec.h"
#include "coordinator/state/state_test_util.h"

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

AddJob JobSpec(std::int64_t id) {
  AddJob job;
  job.job = JobId(id);
  job.consumer = ConsumerId(id);
  job.token = "job-token-" + std::to_string(id);
  job.name = "train.py";
  job.host = {"node1", "boot", 1000, 77};
  job.version = "0.1.0";
  job.wanted_workers = 2;
  job.cache_bytes = 1U << 30;
  job.opened_ms = 5;
  return job;
}
AddWorker WorkerSpec(std::int64_t id) {
  AddWorker worker;
  worker.token = "worker-token-" + std::to_string(id);
  worker.info.worker = WorkerId(id);
  worker.info.endpoints = {"tcp://10.0.0.1:7071", "ipc:///x"};
  worker.info.arena_path = "/run/x";
  worker.info.host = {"node1", "boot", 1000, 99};
  worker.info.cores = 8;
  worker.info.version = "0.1.0";
  return worker;
}

State WithJobAndTwoWorkers() {
  State state;
  EXPECT_TRUE(state.Apply(JobSpec(1)).ok());
  EXPECT_TRUE(state.Apply(WorkerSpec(1)).ok());
  EXPECT_TRUE(state.Apply(WorkerSpec(2)).ok());
  EXPECT_TRUE(state.Apply(SetLeases{JobId(1), 1, {WorkerId(1), WorkerId(2)}}).ok());
  return state;
}

TEST(State, IdsAreNeverGivenTwice) {
  State state;
  ASSERT_TRUE(state.Apply(JobSpec(3)).ok());
  EXPECT_EQ(state.next_job(), JobId(4));
  ASSERT_TRUE(state.Apply(RemoveJob{JobId(3)}).ok());
  EXPECT_EQ(state.next_job(), JobId(4));
  const Status again = state.Apply(JobSpec(3));
  EXPECT_EQ(again.code(), Code::kDataLoss);
  EXPECT_THAT(again.message(), HasSubstr("job 3: this id was given before"));
}

TEST(State, ALostWorkerTakesItsLeasesAlong) {
  State state = WithJobAndTwoWorkers();
  ASSERT_TRUE(state.Apply(MarkWorkerLost{WorkerId(1)}).ok());
  EXPECT_THAT(state.FindJob(JobId(1))->leases, ElementsAre(WorkerId(2)));
  EXPECT_EQ(state.FindJob(JobId(1))->generation, 2U);
  EXPECT_THAT(state.FindWorker(WorkerId(1))->jobs, IsEmpty());
}

TEST(State, ALostJobFreesItsLeases) {
  State state = WithJobAndTwoWorkers();
  ASSERT_TRUE(state.Apply(MarkJobLost{JobId(1)}).ok());
  EXPECT_THAT(state.FindJob(JobId(1))->leases, IsEmpty());
  EXPECT_THAT(state.FindWorker(WorkerId(2))->jobs, IsEmpty());
}

TEST(State, RefusesLeasesOfWhatIsNotThere) {
  State state = WithJobAndTwoWorkers();
  ASSERT_TRUE(state.Apply(DrainWorker{WorkerId(2)}).ok());
  const auto refused = [&](const SetLeases& update) { return state.Apply(update).message(); };
  EXPECT_THAT(refused({JobId(1), 9, {WorkerId(2)}}), HasSubstr("worker 2 can't be leased"));
  EXPECT_THAT(refused({JobId(1), 9, {WorkerId(5)}}), HasSubstr("worker 5 can't be leased"));
  EXPECT_THAT(refused({JobId(7), 9, {}}), HasSubstr("job 7 is not running"));
  EXPECT_THAT(refused({JobId(1), 1, {}}), HasSubstr("stale lease generation"));
  EXPECT_THAT(state.FindJob(JobId(1))->leases, ElementsAre(WorkerId(1))) << "nothing changed";
}

TEST(State, LookupsDoNotInsert) {
  State state;
  EXPECT_EQ(state.FindJob(JobId(1)), nullptr);
  EXPECT_EQ(state.FindWorkerByToken("x"), nullptr);
  EXPECT_THAT(state.jobs(), IsEmpty());
}

TEST(State, EndedWorkersLeaveTheirCpuBehind) {
  State state = WithJobAndTwoWorkers();
  ASSERT_TRUE(state.Apply(RemoveWorker{WorkerId(1), 2.5}).ok());
  ASSERT_TRUE(state.Apply(RemoveWorker{WorkerId(2), 1.5}).ok());
  EXPECT_DOUBLE_EQ(state.ended_cpu_seconds(), 4.0);
}

TEST(State, SnapshotMakesTheSameStateAgain) {
  State state = WithJobAndTwoWorkers();
  wire::Split split;
  split.worker_nodes = 3;
  split.cache_node = 1;
  split.tail_node = 2;
  ASSERT_TRUE(state.Apply(AddSession{JobId(1), SessionId(9), "ImageFolder", 77, split}).ok());
  EXPECT_FALSE(state.FindJob(JobId(1))->lanes_stay());
  AddSession with_lanes{JobId(1), SessionId(10), "Stream", 78};
  with_lanes.lanes_stay = true;
  ASSERT_TRUE(state.Apply(with_lanes).ok());
  ASSERT_TRUE(state.Apply(WorkerSpec(3)).ok());
  ASSERT_TRUE(state.Apply(RemoveWorker{WorkerId(3), 1.25}).ok());
  ASSERT_TRUE(state.Apply(DrainWorker{WorkerId(2)}).ok());
  ASSERT_TRUE(state.Apply(JobSpec(2)).ok());
  ASSERT_TRUE(state.Apply(MarkJobLost{JobId(2)}).ok());
  State again;
  for (const Update& update : state.Snapshot()) {
    const Result<Update> decoded = DecodeUpdate(EncodeUpdate(update));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    const Status applied = again.Apply(*decoded);
    ASSERT_TRUE(applied.ok()) << applied.ToString();
  }
  ExpectSameState(again, state);
  EXPECT_EQ(again.next_worker(), WorkerId(4));
  EXPECT_TRUE(again.FindJob(JobId(1))->lanes_stay());
  EXPECT_EQ(again.FindJob(JobId(1))->sessions.at(SessionId(9)).split, split);
  EXPECT_DOUBLE_EQ(again.ended_cpu_seconds(), 1.25);
}

// Whatever workers claim, the next coordinator must be able to read the journal.
TEST(State, CpuTimeOfEndedWorkersStaysANumber) {
  State state = WithJobAndTwoWorkers();
  for (const WorkerId id : {WorkerId(1), WorkerId(2)}) {
    ASSERT_TRUE(state.Apply(RemoveWorker{id, 1.7e308}).ok());
  }
  for (const Update& update : state.Snapshot()) {
    EXPECT_TRUE(DecodeUpdate(EncodeUpdate(update)).ok()) << EncodeUpdate(update);
  }
}

}  // namespace
}  // namespace headrace::coordinator
