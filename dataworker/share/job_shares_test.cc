// The book of a work queue, without a queue: what is written down when units come, begin and end.
#include "dataworker/share/job_shares.h"

#include <algorithm>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class JobSharesTest : public ::testing::Test {
 protected:
  // One unit of whose turn it is; "-" for nobody's.
  std::string RunOne(Duration cost = milliseconds(1), std::uint64_t bytes = 0) {
    JobShares::Session* session = shares_.First(now_);
    if (session == nullptr) return "-";
    const JobShares::Charged charged = shares_.Start(*session, 1, now_);
    const auto ns = static_cast<std::uint64_t>(cost.count());
    shares_.Settle(*session, charged, 1,
                   {.ns = static_cast<double>(ns), .cpu_ns = ns, .bytes = bytes}, now_);
    return session == &x_ ? "x" : session == &y_ ? "y" : "z";
  }
  std::string Run(int units) {
    std::string order;
    for (int i = 0; i < units; ++i) order += RunOne();
    return order;
  }
  JobWork UsageOf(JobId job) {
    for (const JobWork& work : shares_.Usage(now_)) {
      if (work.job == job) return work;
    }
    ADD_FAILURE() << "no such job";
    return {};
  }

  const JobId a_{1}, b_{2};
  SteadyTime now_ = SteadyTime(seconds(1));
  JobShares shares_;
  JobShares::Session x_, y_, z_;
};

TEST_F(JobSharesTest, JobsTakeTurnsAndSoDoTheSessionsOfOne) {
  shares_.Queue(x_, a_, 2, false, now_);
  shares_.Queue(y_, a_, 2, false, now_);
  shares_.Queue(z_, b_, 4, false, now_);
  EXPECT_EQ(Run(9), "xzyzxzyz-");
  EXPECT_EQ(shares_.First(now_), nullptr);
}

TEST_F(JobSharesTest, AJobHasTimeByItsWeight) {
  (void)shares_.SetLimits(a_, {.millicores = 3000}, now_);
  EXPECT_EQ(shares_.Millicores(a_, now_), 3000U);
  EXPECT_EQ(shares_.Millicores(b_, now_), JobLimits::kDefaultMillicores);
  shares_.Queue(x_, a_, 100, false, now_);
  shares_.Queue(y_, b_, 100, false, now_);
  const std::string order = Run(80);
  EXPECT_NEAR(static_cast<double>(std::count(order.begin(), order.end(), 'x')), 60, 2);
}

TEST_F(JobSharesTest, UnitsAreCountedWhileTheyWaitAndRunAndWhatTheyUsedAfterwards) {
  shares_.Queue(x_, a_, 5, false, now_);
  EXPECT_FALSE(x_.idle());
  EXPECT_EQ(UsageOf(a_).queued, 5);
  const JobShares::Charged charged = shares_.Start(x_, 3, now_);
  EXPECT_EQ(UsageOf(a_).queued, 2);
  shares_.Unqueue(x_, 2, now_);
  EXPECT_EQ(UsageOf(a_).queued, 0);
  EXPECT_TRUE(UsageOf(a_).busy);  // three of them run
  EXPECT_FALSE(x_.idle());
  EXPECT_EQ(shares_.First(now_), nullptr);
  shares_.Settle(x_, charged, 3, {.ns = 9, .cpu_ns = 7, .bytes = 30}, now_);
  EXPECT_TRUE(x_.idle());
  const JobWork used = UsageOf(a_);
  EXPECT_FALSE(used.busy);
  EXPECT_EQ(used.cpu_ns, 7U);
  EXPECT_EQ(used.source_bytes, 30U);
  EXPECT_EQ(x_.mean(), 3);  // of one unit
}

TEST_F(JobSharesTest, ASessionThatComesForAnotherJobBringsWhatItHasQueued) {
  shares_.Queue(x_, a_, 3, false, now_);
  const JobShares::Charged charged = shares_.Start(x_, 1, now_);
  shares_.Queue(x_, b_, 1, false, now_);
  EXPECT_EQ(UsageOf(a_).queued, 0);
  EXPECT_EQ(UsageOf(b_).queued, 3);
  // What began for the first one is the first one's.
  EXPECT_TRUE(UsageOf(a_).busy);
  shares_.Forget(a_);
  shares_.Settle(x_, charged, 1, {.ns = 5, .cpu_ns = 5}, now_);
  EXPECT_EQ(UsageOf(a_).cpu_ns, 5U);
  EXPECT_FALSE(UsageOf(a_).busy);
  EXPECT_EQ(Run(4), "xxx-");
  shares_.Forget(a_);  // it has no sessions any more
  EXPECT_EQ(shares_.Usage(now_).size(), 1U);
}

TEST_F(JobSharesTest, AJobIsForgottenWhenItsSessionsHaveLeft) {
  shares_.Queue(x_, a_, 1, false, now_);
  EXPECT_EQ(Run(1), "x");
  shares_.Forget(a_);
  EXPECT_EQ(shares_.Usage(now_).size(), 1U);
  shares_.Leave(x_);
  shares_.Forget(a_);
  EXPECT_TRUE(shares_.Usage(now_).empty());
}

TEST_F(JobSharesTest, AJobInDebtToItsLimitIsPassedOverUntilItHasPaid) {
  shares_.Queue(x_, a_, 10, false, now_);
  shares_.Queue(y_, b_, 2, false, now_);
  EXPECT_FALSE(shares_.Limited(x_));
  EXPECT_EQ(shares_.SetLimits(a_, {.source_bytes_per_second = 1000}, now_), 10);
  EXPECT_EQ(shares_.SetLimits(a_, {.source_bytes_per_second = 1000}, now_), std::nullopt);
  EXPECT_TRUE(shares_.Limited(x_));
  EXPECT_FALSE(shares_.Limited(y_));
  EXPECT_EQ(RunOne(milliseconds(1), 2000), "x");
  EXPECT_FALSE(shares_.MayRead(a_, JobShares::Reader::kStage, now_));
  EXPECT_EQ(Run(3), "yy-");
  const SteadyTime ready = shares_.ReadyAt(now_);
  EXPECT_GE(ready - now_, milliseconds(1800));  // it may have saved some
  EXPECT_LE(ready - now_, seconds(2));
  now_ = ready;
  EXPECT_EQ(RunOne(), "x");
  EXPECT_NEAR(static_cast<double>(UsageOf(a_).limited_ns), 1.9e9, 0.11e9);
  EXPECT_EQ(UsageOf(b_).limited_ns, 0U);
}

// Most of a job's samples may be cached. Those that are not wait for the limit, by themselves.
TEST_F(JobSharesTest, UnitsThatAskBeforeTheyReadRunWhileTheirJobIsInDebt) {
  (void)shares_.SetLimits(a_, {.source_bytes_per_second = 1000}, now_);
  shares_.Queue(x_, a_, 10, true, now_);
  EXPECT_TRUE(shares_.MayRead(a_, JobShares::Reader::kUnit, now_));
  EXPECT_EQ(RunOne(milliseconds(1), 2000), "x");
  EXPECT_FALSE(shares_.MayRead(a_, JobShares::Reader::kUnit, now_));
  EXPECT_TRUE(shares_.MayRead(b_, JobShares::Reader::kUnit, now_));
  EXPECT_EQ(Run(3), "xxx");
  EXPECT_FALSE(shares_.MayRead(a_, JobShares::Reader::kUnit, now_))
      << "what finds its samples pays nothing";
  EXPECT_EQ(UsageOf(a_).limited_ns, 0U);
  now_ += seconds(2);
  EXPECT_TRUE(shares_.MayRead(a_, JobShares::Reader::kUnit, now_));
  shares_.SetSourceLimit(1000, now_);
  EXPECT_EQ(RunOne(milliseconds(1), 2000), "x");
  EXPECT_FALSE(shares_.MayRead(b_, JobShares::Reader::kUnit, now_))
      << "all jobs together are in debt";
}

TEST_F(JobSharesTest, TheLimitOfAllHoldsBackThoseWhoRead) {
  shares_.SetSourceLimit(1000, now_);
  shares_.Queue(x_, a_, 10, false, now_);
  shares_.Queue(y_, b_, 2, false, now_);
  EXPECT_TRUE(shares_.Limited(y_));
  EXPECT_EQ(RunOne(milliseconds(1), 2000), "x");
  EXPECT_EQ(RunOne(), "y");  // it has read nothing that is known
  EXPECT_EQ(Run(2), "y-");
  EXPECT_GT(shares_.ReadyAt(now_), now_);
  EXPECT_LE(shares_.ReadyAt(now_), now_ + seconds(2));
  now_ += seconds(2);
  EXPECT_EQ(RunOne(), "x");
}

TEST_F(JobSharesTest, AMeanOfBytesIsTakenWhenAUnitBeginsAndTheRestWhenItEnds) {
  (void)shares_.SetLimits(a_, {.source_bytes_per_second = 1000}, now_);
  shares_.Queue(x_, a_, 10, false, now_);
  EXPECT_EQ(RunOne(milliseconds(1), 4000), "x");
  now_ += seconds(10);
  const JobShares::Charged charged = shares_.Start(x_, 1, now_);
  EXPECT_EQ(charged.bytes, 4000);
  EXPECT_EQ(shares_.First(now_), nullptr);
  shares_.Settle(x_, charged, 1, {.bytes = 0}, now_);  // it read nothing
  EXPECT_EQ(shares_.First(now_), &x_);
}

TEST_F(JobSharesTest, TheLimitOfAllIsGivenBackWhatWasTakenTooMuch) {
  shares_.SetSourceLimit(1000, now_);
  shares_.Queue(x_, a_, 10, false, now_);
  EXPECT_EQ(RunOne(milliseconds(1), 4000), "x");
  now_ += seconds(10);
  const JobShares::Charged charged = shares_.Start(x_, 1, now_);
  EXPECT_EQ(shares_.First(now_), nullptr);
  shares_.Settle(x_, charged, 1, {.bytes = 0}, now_);
  EXPECT_EQ(shares_.First(now_), &x_);
}

TEST_F(JobSharesTest, ASessionWithoutUnitsHasNoTurn) {
  shares_.Queue(x_, a_, 2, false, now_);
  shares_.Queue(y_, a_, 2, false, now_);
  shares_.Unqueue(x_, 2, now_);
  EXPECT_EQ(Run(3), "yy-");
  shares_.Queue(x_, a_, 1, false, now_);
  shares_.Queue(y_, a_, 3, false, now_);
  const std::string order = Run(5);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'x'), 1) << order;
  EXPECT_EQ(order.back(), '-');
}

TEST_F(JobSharesTest, ADrainedJobKeepsItsWeightUntilThen) {
  shares_.Queue(x_, a_, 10, false, now_);
  shares_.Drain(a_, now_ + seconds(10));
  shares_.Drain(a_, now_ + seconds(20));  // again: as it was
  EXPECT_EQ(shares_.Millicores(a_, now_ + seconds(9)), JobLimits::kDefaultMillicores);
  EXPECT_EQ(shares_.Millicores(a_, now_ + seconds(10)), JobLimits::kLeastMillicores);
  now_ += seconds(11);
  EXPECT_EQ(RunOne(), "x");
  shares_.Drain(a_, now_ + seconds(5));  // it has the least already
  EXPECT_EQ(shares_.Millicores(a_, now_), JobLimits::kLeastMillicores);
  (void)shares_.SetLimits(a_, {}, now_);
  EXPECT_EQ(shares_.Millicores(a_, now_), JobLimits::kDefaultMillicores);
}

}  // namespace
}  // namespace headrace::dataworker
