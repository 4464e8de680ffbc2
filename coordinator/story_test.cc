#include "coordinator/story.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

using ::testing::HasSubstr;

class StoryTest : public testing::Test {
 protected:
  // What is said of it, and then it happens.
  std::string Tell(const Update& update, std::int64_t wall_ms = 0) {
    const std::string text = StoryOf(state_, update, wall_ms);
    EXPECT_TRUE(state_.Apply(update).ok());
    return text;
  }
  static AddJob TheJob() {
    AddJob job;
    job.job = JobId(3);
    job.consumer = ConsumerId(1);
    job.token = "job";
    job.name = "train.py";
    job.host.hostname = "a";
    job.opened_ms = 1'000;
    return job;
  }
  static AddWorker TheWorker() {
    AddWorker worker;
    worker.token = "worker";
    worker.info.worker = WorkerId(7);
    worker.info.host.hostname = "b";
    worker.info.cores = 4;
    worker.info.cache_bytes = 2'000'000'000;
    return worker;
  }

  State state_;
};

TEST_F(StoryTest, OfAJob) {
  EXPECT_EQ(Tell(TheJob()), "job 3 (train.py) of a is opened");
  EXPECT_EQ(Tell(SetGrants{JobId(3), {}, "the tenant's quota of cores is used"}),
            "job 3 (train.py) waits: the tenant's quota of cores is used");
  EXPECT_EQ(Tell(SetGrants{JobId(3), {}, "the tenant's quota of cores is used"}), "");
  EXPECT_EQ(Tell(SetGrants{JobId(3), {}, ""}), "job 3 (train.py) is admitted");
  EXPECT_EQ(Tell(TheWorker()), "worker 7 on b is ready: 4 cores, 2 GB of cache");
  EXPECT_EQ(Tell(SetLeases{JobId(3), 1, {WorkerId(7)}}), "job 3 (train.py) has 1 worker");
  EXPECT_EQ(Tell(SetLeases{JobId(3), 2, {WorkerId(7)}}), "");
  EXPECT_EQ(Tell(SetLeases{JobId(3), 3, {}}), "job 3 (train.py) has no worker any more");
  EXPECT_EQ(Tell(MarkJobLost{JobId(3)}), "") << "a warning says so, and why";
  EXPECT_EQ(Tell(ReviveJob{JobId(3)}), "job 3 (train.py) is back");
  EXPECT_EQ(Tell(RemoveJob{JobId(3)}, 301'000), "job 3 (train.py) has ended after 5 min");
}

TEST_F(StoryTest, OfAWorker) {
  Tell(TheWorker());
  EXPECT_EQ(Tell(MarkWorkerLost{WorkerId(7)}), "");
  EXPECT_EQ(Tell(ReviveWorker{WorkerId(7)}), "worker 7 on b is back");
  EXPECT_EQ(Tell(DrainWorker{WorkerId(7), "its host goes down"}),
            "worker 7 on b leaves when its work is done: its host goes down");
  EXPECT_EQ(StoryOf(state_, DrainWorker{WorkerId(7)}, 0), "") << "that was said";
  EXPECT_EQ(Tell(RemoveWorker{WorkerId(7)}), "worker 7 on b has left");
}

TEST_F(StoryTest, WhatHappensEachSecondIsNotSaid) {
  Tell(TheJob());
  Tell(TheWorker());
  wire::WorkerHeartbeat beat;
  beat.worker = WorkerId(7);
  EXPECT_EQ(Tell(ReportWorker{{}, beat}), "");
  EXPECT_EQ(Tell(SeeConsumer{JobId(3), {}, {}, true, {}}), "");
  EXPECT_EQ(Tell(EndPeriod{}), "");
}

// With the clock turned back in between.
TEST_F(StoryTest, AJobNeverEndsBeforeItBegan) {
  Tell(TheJob());
  EXPECT_THAT(Tell(RemoveJob{JobId(3)}, 0), HasSubstr("after 0 s"));
}

}  // namespace
}  // namespace headrace::coordinator
