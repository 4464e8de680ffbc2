#include "dataworker/share/work_queue.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dataworker/exec/inline_executor.h"
#include "dataworker/exec/tbb_executor.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;

// Writes what happens to it into a log.
class LoggedWork final : public Work {
 public:
  LoggedWork(std::string name, std::int64_t units, std::vector<std::string>& log,
             IterationId iteration = {}, std::int64_t order = -1)
      : Work(units, iteration, Reads::kUnasked, order), name_(std::move(name)), log_(log) {}

 protected:
  void Run(std::int64_t unit, ThreadContext& /*context*/) override {
    log_.push_back(name_ + std::to_string(unit));
  }
  void Finish() override { log_.push_back(name_ + (cancelled() ? " cancelled" : " done")); }

 private:
  const std::string name_;
  std::vector<std::string>& log_;
};

class CountedWork final : public Work {
 public:
  CountedWork(std::int64_t units, std::atomic<int>& runs, std::atomic<int>& ends)
      : Work(units), runs_(runs), ends_(ends) {}

 protected:
  void Run(std::int64_t /*unit*/, ThreadContext& /*context*/) override { ++runs_; }
  void Finish() override { ++ends_; }

 private:
  std::atomic<int>& runs_;
  std::atomic<int>& ends_;
};

class WorkQueueTest : public ::testing::Test {
 protected:
  void Push(std::int64_t session, std::string name, std::int64_t units, std::int64_t iteration = 0,
            WorkQueue::Place place = WorkQueue::Place::kBack, std::int64_t job = 1) {
    queue_.Push(JobId(job), SessionId(session),
                std::make_shared<LoggedWork>(std::move(name), units, log_, IterationId(iteration)),
                place);
  }
  void PushOrdered(std::string name, std::int64_t order, WorkQueue::Place place) {
    queue_.Push(JobId(1), SessionId(1),
                std::make_shared<LoggedWork>(std::move(name), 1, log_, IterationId(), order),
                place);
  }
  InlineExecutor executor_;
  FakeClock clock_;
  WorkQueue queue_{{executor_, clock_, [](Duration) { FAIL() << "nothing is held back"; },
                    /*units_a_task=*/1, [] { return ThreadUsage(); }}};
  std::vector<std::string> log_;
};

TEST_F(WorkQueueTest, SessionsTakeTurnsAndOneSessionKeepsItsOrder) {
  Push(1, "a", 3);
  Push(1, "b", 1);
  Push(2, "c", 2);
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("a0", "c0", "a1", "c1", "c done", "a2", "a done", "b0", "b done"));
  EXPECT_EQ(queue_.queued(), 0);
}

TEST_F(WorkQueueTest, JobsTakeTurnsHoweverManySessionsTheyHave) {
  for (int session = 0; session < 3; ++session) Push(session, "a", 2);
  Push(9, "b", 3, 0, WorkQueue::Place::kBack, 2);
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("a0", "b0", "a0", "b1", "a0", "b2", "b done", "a1", "a done", "a1",
                                "a done", "a1", "a done"));
}

TEST_F(WorkQueueTest, WhatIsInFrontRunsBeforeWhatHasBegun) {
  Push(1, "a", 3);
  executor_.RunOne();
  Push(1, "b", 1, 0, WorkQueue::Place::kFront);
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("a0", "b0", "b done", "a1", "a2", "a done"));
}

// The trainer waits for the oldest batch, whatever order a store answers in.
TEST_F(WorkQueueTest, WhatHasAnOrderGoesByItAndNotPastWhatHasNone) {
  using enum WorkQueue::Place;
  Push(1, "new", 1);
  PushOrdered("b", 7, kBack);
  PushOrdered("a", 3, kBack);
  PushOrdered("c", 7, kBack);
  Push(1, "last", 1);
  PushOrdered("d", 1, kBack);
  PushOrdered("z", 9, kFront);
  PushOrdered("y", 4, kFront);
  PushOrdered("x", 4, kFront);
  executor_.RunAll();
  std::erase_if(log_, [](const std::string& line) { return line.ends_with("done"); });
  EXPECT_THAT(log_, ElementsAre("y0", "x0", "z0", "new0", "a0", "b0", "c0", "last0", "d0"));
}

TEST_F(WorkQueueTest, CancelEndsAtOnceWhatItMeansAndNothingElse) {
  Push(1, "old", 4, 1);
  Push(1, "new", 2, 2);
  Push(2, "other", 1, 1);
  executor_.RunOne();
  queue_.Cancel(SessionId(1), [](const Work& work) { return work.iteration() < IterationId(2); });
  EXPECT_THAT(log_, ElementsAre("old0", "old cancelled"));
  EXPECT_EQ(queue_.queued(), 3);
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("old0", "old cancelled", "other0", "other done", "new0", "new1",
                                "new done"));
}

TEST_F(WorkQueueTest, AForgottenSessionTakesWhatItHadWithIt) {
  Push(1, "a", 3);
  Push(2, "b", 2);
  executor_.RunOne();
  queue_.Forget(SessionId(1));
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("a0", "a cancelled", "b0", "b1", "b done"));
  EXPECT_EQ(queue_.queued(), 0);
  queue_.Forget(SessionId(2));
  queue_.ForgetJob(JobId(1));
  EXPECT_TRUE(queue_.Usage().empty());
  Push(1, "c", 1);  // as if it were new
  executor_.RunAll();
  EXPECT_EQ(queue_.Usage().size(), 1U);
}

TEST_F(WorkQueueTest, ASessionMayGoOnUnderAnotherJob) {
  Push(1, "a", 3, 0, WorkQueue::Place::kBack, 1);
  executor_.RunOne();
  Push(1, "b", 1, 0, WorkQueue::Place::kBack, 2);
  const std::vector<JobWork> usage = queue_.Usage();
  ASSERT_EQ(usage.size(), 2U);
  EXPECT_EQ(usage[0].queued, 0);
  EXPECT_EQ(usage[1].queued, 3);
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("a0", "a1", "a2", "a done", "b0", "b done"));
  queue_.ForgetJob(JobId(1));
  EXPECT_EQ(queue_.Usage().size(), 1U);
}

TEST(WorkQueueThreads, EveryUnitRunsOnceOrIsDroppedAndEachWorkEndsOnce) {
  const std::unique_ptr<Executor> executor = MakeTbbExecutor(4);
  WorkQueue queue({*executor, Clock::Real(), [](Duration) {}});
  std::atomic<int> runs = 0, ends = 0;
  for (int i = 0; i < 400; ++i) {
    const SessionId session(i % 7);
    queue.Push(JobId(i % 3), session, std::make_shared<CountedWork>(1 + i % 9, runs, ends));
    if (i % 50 == 49) queue.Cancel(session, [](const Work&) { return true; });
    if (i % 90 == 89) queue.Forget(session);
    if (i % 70 == 69) queue.SetLimits(JobId(i % 3), {.millicores = 500});
  }
  while (ends < 400) std::this_thread::yield();
  executor->Stop();
  EXPECT_EQ(ends, 400);
  EXPECT_LE(runs, 2000);
  EXPECT_EQ(queue.queued(), 0);
}

}  // namespace
}  // namespace headrace::dataworker
