// Shares of jobs and limits of their sources at the work queue, on a clock that the units move.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "dataworker/exec/inline_executor.h"
#include "dataworker/share/work_queue.h"
#include "dataworker/source/core/source_bytes.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kUnits = 1'000'000;

struct Used {
  Duration time{};
  std::int64_t bytes = 0;
  int units = 0;
};

class LimitsTest : public ::testing::Test {
 protected:
  ~LimitsTest() override {
    for (const auto& [job, used] : used_) queue_.Forget(SessionId(job.value));
    executor_.Stop();
  }
  // Units whose thread is taken from them for four times as long as they compute (kPreempted), or
  // which wait for as long by themselves.
  enum class Pause : std::uint8_t { kNone, kPreempted, kWaiting };
  // Units that take `time` and read `bytes`.
  class Unit final : public Work {
   public:
    Unit(LimitsTest& test, JobId job, std::int64_t units, Duration time, std::int64_t bytes,
         Pause pause)
        : Work(units), test_(test), job_(job), time_(time), bytes_(bytes), pause_(pause) {}

   protected:
    void Run(std::int64_t, ThreadContext&) override {
      Used& used = test_.used_[job_];
      used.time += time_;
      used.bytes += bytes_;
      ++used.units;
      test_.clock_.Advance(time_);
      if (pause_ != Pause::kNone) {
        test_.clock_.Advance(4 * time_);
        test_.elsewhere_ += 4 * time_;
        test_.waits_ += pause_ == Pause::kWaiting ? 1 : 0;
      }
      CountSourceBytes(static_cast<std::uint64_t>(bytes_));
    }
    void Finish() override {}

   private:
    LimitsTest& test_;
    const JobId job_;
    const Duration time_;
    const std::int64_t bytes_;
    const Pause pause_;
  };

  void Push(JobId job, Duration time, std::int64_t bytes = 0, std::int64_t units = kUnits,
            Pause pause = Pause::kNone) {
    queue_.Push(job, SessionId(job.value),
                std::make_shared<Unit>(*this, job, units, time, bytes, pause));
  }
  // Runs what may run; when nothing may, time goes on to the wake-up that was asked for.
  void RunFor(Duration time) {
    const SteadyTime until = clock_.Now() + time;
    while (clock_.Now() < until) {
      if (executor_.RunOne()) continue;
      if (!wake_ || *wake_ >= until) break;
      clock_.Advance(std::max(*wake_ - clock_.Now(), Duration(0)));
      wake_.reset();
      queue_.Wake();
    }
    clock_.Advance(std::max(until - clock_.Now(), Duration(0)));
  }
  double Ratio() {
    return static_cast<double>(used_[a_].time.count()) /
           static_cast<double>(used_[b_].time.count());
  }
  JobWork UsageOf(JobId job) {
    for (const JobWork& work : queue_.Usage()) {
      if (work.job == job) return work;
    }
    ADD_FAILURE() << "no such job";
    return {};
  }

  InlineExecutor executor_;
  FakeClock clock_;
  std::optional<SteadyTime> wake_;
  std::map<JobId, Used> used_;
  // What units take is CPU time, but for what the system used for somebody else.
  ThreadUsage Usage() {
    const Duration busy = clock_.Now().time_since_epoch() - elsewhere_;
    return {.cpu_ns = static_cast<std::uint64_t>(busy.count()), .waits = waits_};
  }
  Duration elsewhere_{};
  std::uint64_t waits_ = 0;
  WorkQueue queue_{{executor_, clock_, [this](Duration delay) { wake_ = clock_.Now() + delay; }, 16,
                    [this] { return Usage(); }}};
  const JobId a_{1}, b_{2};
};

TEST_F(LimitsTest, JobsGetTimeByTheirWeightsNotUnits) {
  queue_.SetLimits(a_, {.millicores = 1500});
  queue_.SetLimits(b_, {.millicores = 500});
  Push(a_, milliseconds(20));
  Push(b_, microseconds(100));
  RunFor(seconds(100));
  EXPECT_NEAR(Ratio(), 3, 0.03);
  queue_.SetLimits(a_, {.millicores = 500});
  used_.clear();
  RunFor(seconds(100));
  EXPECT_NEAR(Ratio(), 1, 0.01);
}

TEST_F(LimitsTest, WhoIsInterruptedPaysNothingForItAndWhoWaitsPaysForItsThread) {
  Push(a_, milliseconds(1), 0, kUnits, Pause::kPreempted);
  Push(b_, milliseconds(1));
  RunFor(seconds(60));
  EXPECT_NEAR(Ratio(), 1, 0.01);
  const JobId waits(3);
  Push(waits, milliseconds(1), 0, kUnits, Pause::kWaiting);
  used_.clear();
  RunFor(seconds(60));
  EXPECT_NEAR(Ratio(), 1, 0.01);
  EXPECT_NEAR(static_cast<double>(used_[b_].units) / used_[waits].units, 5, 0.05);
  // The account is of CPU time all the same.
  EXPECT_NEAR(static_cast<double>(UsageOf(waits).cpu_ns), used_[waits].units * 1e6, 2e6);
}

TEST_F(LimitsTest, AJobWhoseLeaseEndedKeepsItsWeightForAWhileAndThenHasTheLeast) {
  Push(a_, milliseconds(1));
  Push(b_, milliseconds(1));
  queue_.Drain(b_);
  RunFor(seconds(9));
  EXPECT_NEAR(used_[b_].units, 4500, 10);
  queue_.Drain(b_);  // said with each heartbeat
  RunFor(seconds(1));
  EXPECT_EQ(queue_.Millicores(b_), JobLimits::kLeastMillicores);
  used_.clear();
  RunFor(seconds(101));
  EXPECT_NEAR(used_[b_].units, 1000, 20);  // 10 of 1010
  queue_.SetLimits(b_, {});
  used_.clear();
  RunFor(seconds(10));
  EXPECT_NEAR(used_[b_].units, 5000, 10);
}

TEST_F(LimitsTest, AJobReadsItsRateAndTheOtherIsNotDisturbed) {
  queue_.SetLimits(a_, {.source_bytes_per_second = 1'000'000});
  Push(a_, microseconds(100), 50'000);
  Push(b_, milliseconds(1));
  RunFor(seconds(100));
  // In units of a sample: rate, burst, one read.
  EXPECT_LE(used_[a_].bytes, 100'000'000 + 100'000 + 50'000);
  EXPECT_GE(used_[a_].bytes, 99'500'000);
  EXPECT_EQ(UsageOf(a_).source_bytes, static_cast<std::uint64_t>(used_[a_].bytes));
  // a needs 0.2 s of the thread; b has all the rest.
  EXPECT_GE(used_[b_].time, milliseconds(99'700));
  EXPECT_NEAR(static_cast<double>(UsageOf(a_).limited_ns), 99.5e9, 0.5e9);
  EXPECT_EQ(UsageOf(b_).limited_ns, 0U);
}

TEST_F(LimitsTest, NobodyIsKeptWaitingWhenNobodyElseHasWork) {
  queue_.SetLimits(a_, {.source_bytes_per_second = 1'000'000});
  Push(a_, microseconds(100), 50'000);
  RunFor(seconds(100));
  EXPECT_GE(used_[a_].bytes, 99'500'000);
  EXPECT_LE(used_[a_].bytes, 100'150'000);
}

TEST_F(LimitsTest, LimitsChangeWhileTheyHold) {
  queue_.SetLimits(a_, {.source_bytes_per_second = 1});  // for years
  Push(a_, microseconds(100), 1'000'000);
  RunFor(seconds(10));
  EXPECT_EQ(used_[a_].units, 1);
  queue_.SetLimits(a_, {.source_bytes_per_second = 10'000'000});
  RunFor(seconds(10));
  EXPECT_NEAR(static_cast<double>(used_[a_].bytes), 100e6, 3e6);
  used_.clear();
  queue_.SetLimits(a_, {});
  RunFor(seconds(1));
  EXPECT_NEAR(used_[a_].units, 10'000, 2);
}

TEST_F(LimitsTest, TheWorkersLimitHoldsBackThoseWhoRead) {
  queue_.SetSourceLimit(2'000'000);
  const JobId cached(3);
  Push(a_, microseconds(100), 20'000);
  Push(b_, microseconds(100), 60'000);
  Push(cached, microseconds(100), 0);
  RunFor(seconds(100));
  const std::int64_t bytes = used_[a_].bytes + used_[b_].bytes;
  EXPECT_LE(bytes, 200'000'000 + 200'000 + 60'000);
  EXPECT_GE(bytes, 199'000'000);
  // When one of them may begin, the share of time decides which, as always.
  EXPECT_NEAR(used_[a_].units, used_[b_].units, 10);
  EXPECT_GE(used_[cached].time, seconds(99));
  EXPECT_EQ(UsageOf(cached).limited_ns, 0U);
  EXPECT_GE(UsageOf(a_).limited_ns, 90'000'000'000U);
  EXPECT_EQ(UsageOf(a_).source_bytes, static_cast<std::uint64_t>(used_[a_].bytes));
}

TEST_F(LimitsTest, TheWorkersDebtIsWhatWasRead) {
  queue_.SetSourceLimit(100'000);
  Push(a_, microseconds(100), 1'000'000);
  RunFor(seconds(9));
  EXPECT_EQ(used_[a_].units, 1);
  RunFor(seconds(2));
  EXPECT_EQ(used_[a_].units, 2);
}

// Else samples whose bytes are there would wait for the reads of later ones.
TEST_F(LimitsTest, UnitsWhoseBytesWereReadAheadDoNotWaitForADebt) {
  queue_.SetLimits(a_, {.source_bytes_per_second = 1000});
  Push(a_, milliseconds(1), 0, 1);
  RunFor(milliseconds(2));
  EXPECT_FALSE(queue_.TakeAhead(a_, 100'000).again);
  Push(a_, milliseconds(1), 0, 10);
  RunFor(milliseconds(20));
  EXPECT_EQ(used_[a_].units, 11);
  const WorkQueue::Taken refused = queue_.TakeAhead(a_, 1);
  ASSERT_TRUE(refused.again);
  EXPECT_NEAR(std::chrono::duration<double>(*refused.again - clock_.Now()).count(), 100, 1);
  queue_.SettleAhead(a_, 100'000, 500);  // it was much less: the rest is given back
  RunFor(seconds(1));
  EXPECT_FALSE(queue_.TakeAhead(a_, 1).again);
  EXPECT_EQ(UsageOf(a_).source_bytes, 500U);
}

TEST_F(LimitsTest, WhatStageProcessesReadCountsForTheirJob) {
  queue_.SetLimits(a_, {.source_bytes_per_second = 1000});
  EXPECT_TRUE(queue_.MayRead(a_));
  queue_.Charge(a_, seconds(1), 5000);
  EXPECT_FALSE(queue_.MayRead(a_));
  EXPECT_TRUE(queue_.MayRead(b_));
  EXPECT_EQ(UsageOf(a_).source_bytes, 5000U);
  RunFor(seconds(5));
  EXPECT_TRUE(queue_.MayRead(a_));
  // And its CPU time: b is served first, but not for the whole second.
  Push(a_, milliseconds(10), 0, 10);
  queue_.Charge(a_, seconds(1), 0);
  Push(b_, milliseconds(10), 0, 20);
  RunFor(milliseconds(95));
  EXPECT_EQ(used_[a_].units, 0);
  RunFor(milliseconds(40));
  EXPECT_GE(used_[a_].units, 1);
}

TEST_F(LimitsTest, BatchesOfStagesAreSlowedToTheLimitAndTheTimeIsKnown) {
  queue_.SetLimits(a_, {.source_bytes_per_second = 1'000'000});
  // Batches of 700 kB, which are asked for every 20 ms.
  std::int64_t bytes = 0;
  for (int look = 0; look < 5000; ++look) {
    if (queue_.MayRead(a_)) {
      queue_.Charge(a_, milliseconds(1), 700'000);
      bytes += 700'000;
    }
    clock_.Advance(milliseconds(20));
  }
  EXPECT_LE(bytes, 100'000'000 + 100'000 + 700'000);
  EXPECT_GE(bytes, 99'000'000);
  EXPECT_NEAR(static_cast<double>(UsageOf(a_).limited_ns), 97e9, 2e9);
  // Nobody asks any more: nothing waits.
  const std::uint64_t limited = UsageOf(a_).limited_ns;
  queue_.Charge(a_, milliseconds(1), 100'000'000);
  clock_.Advance(seconds(90));
  EXPECT_EQ(UsageOf(a_).limited_ns, limited);
}

TEST_F(LimitsTest, TheWorkersLimitHoldsWhoReadsInStages) {
  queue_.SetSourceLimit(1000);
  queue_.Charge(a_, milliseconds(1), 5000);
  queue_.Charge(b_, milliseconds(1), 0);
  EXPECT_FALSE(queue_.MayRead(a_));
  EXPECT_TRUE(queue_.MayRead(b_));  // it reads nothing
  RunFor(seconds(5));
  EXPECT_TRUE(queue_.MayRead(a_));
}

TEST_F(LimitsTest, WhoIsHeldBackCanBeCancelled) {
  queue_.SetLimits(a_, {.source_bytes_per_second = 1000});
  Push(a_, microseconds(100), 1'000'000);
  RunFor(seconds(1));
  EXPECT_EQ(used_[a_].units, 1);
  queue_.Forget(SessionId(a_.value));
  const std::uint64_t limited = UsageOf(a_).limited_ns;
  RunFor(seconds(10));
  EXPECT_EQ(queue_.queued(), 0);
  EXPECT_EQ(UsageOf(a_).limited_ns, limited);  // it has nothing that could be
  queue_.ForgetJob(a_);
  EXPECT_TRUE(queue_.Usage().empty());
}

}  // namespace
}  // namespace headrace::dataworker
