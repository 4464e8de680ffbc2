#include "dataworker/share/job_ledger.h"

#include <cmath>
#include <memory>
#include <vector>

#include "dataworker/cache/cache_registry.h"
#include "dataworker/exec/inline_executor.h"
#include "dataworker/peers/cache_lease.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using std::chrono::seconds;
using ::testing::IsEmpty;

class Idle final : public Work {
 public:
  using Work::Work;

 protected:
  void Run(std::int64_t /*unit*/, ThreadContext& /*context*/) override {}
  void Finish() override {}
};

class JobLedgerTest : public ::testing::Test {
 protected:
  static wire::WorkerDirective Directive(std::vector<wire::JobGrant> grants) {
    wire::WorkerDirective directive;
    for (const wire::JobGrant& grant : grants) directive.jobs.push_back(grant.job);
    directive.grants = std::move(grants);
    return directive;
  }
  [[nodiscard]] std::vector<JobLedger::Attached> Sessions() const {
    return {{.job = a_, .since = clock_.Now()}, {.job = b_, .since = clock_.Now()}};
  }
  // Bytes that the job may store, in entries of 1000; no more than `most` are tried.
  std::uint64_t Admits(JobId job, std::uint64_t most = wire::kNoCacheBound) {
    std::uint64_t bytes = 0;
    const Bytes payload(1000);
    while (bytes < most) {
      auto claim =
          cache_->TryClaim(job, {.content = {.place = {0, ++inode_}}, .form = {1, 0}}, 1000);
      if (!claim || !claim.Commit(payload)) return bytes;
      bytes += 1000;
    }
    return bytes;
  }
  void GoOn(Duration by) { clock_.Advance(by); }

  InlineExecutor executor_;
  FakeClock clock_;
  WorkQueue queue_{{executor_, clock_, [](Duration) {}}};
  std::shared_ptr<SampleStore> cache_ =
      std::move(BuiltinCacheTiers().MakeStore({{"memory", {{"size", "4M"}}}})).value();
  JobLedger ledger_{queue_, *cache_, 8};
  const JobId a_{1}, b_{2};
  std::uint64_t inode_ = 0;
};

TEST_F(JobLedgerTest, GrantsHoldUntilTheNextOnes) {
  const CacheLease lease(cache_, a_, std::uint64_t{4} << 20);
  ledger_.OnDirective(Directive({{.job = a_,
                                  .millicores = 2500,
                                  .cache_bytes = 1 << 20,
                                  .source_bytes_per_second = 1000}}),
                      std::nullopt, {});
  EXPECT_EQ(queue_.Millicores(a_), 2500U);
  EXPECT_NEAR(static_cast<double>(Admits(a_)), 1 << 20, 400e3);
  queue_.Charge(a_, Duration(0), 5000);
  EXPECT_FALSE(queue_.MayRead(a_));
  ledger_.OnDirective(Directive({{.job = a_, .millicores = 0, .cache_bytes = 2 << 20}}),
                      std::nullopt, {});
  EXPECT_EQ(queue_.Millicores(a_), JobLimits::kLeastMillicores);  // never nothing
  EXPECT_GT(Admits(a_), 600'000U);
  EXPECT_TRUE(queue_.MayRead(a_));
}

TEST_F(JobLedgerTest, AnOlderCoordinatorGivesEqualSharesAndTheQuotasOfSessions) {
  const CacheLease lease(cache_, a_, std::uint64_t{2} << 20);
  ledger_.OnDirective(Directive({{.job = a_, .millicores = 2500, .source_bytes_per_second = 1}}),
                      std::nullopt, {});
  EXPECT_EQ(Admits(a_), 0U);
  wire::WorkerDirective older;
  older.jobs = {a_};
  ledger_.OnDirective(older, clock_.Now(), Sessions());
  EXPECT_EQ(queue_.Millicores(a_), JobLimits::kDefaultMillicores);
  EXPECT_GT(Admits(a_), 1'000'000U);
  queue_.Charge(a_, Duration(0), 1000);
  EXPECT_TRUE(queue_.MayRead(a_));
  // And it does not drain the jobs that it does not name.
  GoOn(seconds(1));
  older.jobs = {b_};
  ledger_.OnDirective(older, clock_.Now(), Sessions());
  GoOn(seconds(60));
  EXPECT_EQ(queue_.Millicores(a_), JobLimits::kDefaultMillicores);
}

TEST_F(JobLedgerTest, AJobWhoseLeaseEndedIsServedToItsEnd) {
  auto lease = std::make_unique<const CacheLease>(cache_, a_, std::uint64_t{4} << 20);
  ledger_.OnDirective(Directive({{.job = a_, .millicores = 3000, .cache_bytes = 1 << 20}}),
                      std::nullopt, {});
  const std::uint64_t stored = Admits(a_) / 1000;
  for (int beat = 0; beat < 20; ++beat) {
    EXPECT_EQ(queue_.Millicores(a_), beat < 10 ? 3000U : JobLimits::kLeastMillicores) << beat;
    ledger_.OnDirective(Directive({{.job = b_, .millicores = 5000}}), std::nullopt, {});
    GoOn(seconds(1));
  }
  // Its entries stay, but it stores no more.
  EXPECT_EQ(Admits(a_), 0U);
  EXPECT_EQ(cache_->Stats().entries, stored);
  // It comes back.
  ledger_.OnDirective(Directive({{.job = a_, .millicores = 3000, .cache_bytes = 2 << 20}}),
                      std::nullopt, {});
  EXPECT_EQ(queue_.Millicores(a_), 3000U);
  EXPECT_GT(Admits(a_), 600'000U);
  // The end without a word about anybody.
  ledger_.OnDirective({}, std::nullopt, {});
  GoOn(seconds(10));
  EXPECT_EQ(queue_.Millicores(a_), JobLimits::kLeastMillicores);
}

// Between two loaders.
TEST_F(JobLedgerTest, AnIdleJobKeepsWhatItHasAndAddsNothing) {
  for (const std::uint64_t data_set : {std::uint64_t{0}, std::uint64_t{7}}) {
    SCOPED_TRACE(data_set);
    const JobId job(10 + static_cast<std::int64_t>(data_set));
    auto lease = std::make_unique<const CacheLease>(cache_, job, std::uint64_t{4} << 20);
    const wire::JobGrant full{
        .job = job, .millicores = 3000, .cache_bytes = 1 << 20, .data_set = data_set};
    ledger_.OnDirective(Directive({full}), std::nullopt, {});
    const std::uint64_t before = cache_->Stats().entries;
    ASSERT_EQ(Admits(job, 50'000), 50'000U);  // and there is room for more
    ASSERT_GT(cache_->Stats().entries, before);
    wire::JobGrant idle{.job = job, .millicores = 3000, .data_set = data_set, .idle = true};
    ledger_.OnDirective(Directive({idle}), std::nullopt, {});
    EXPECT_LT(Admits(job), 100'000U) << "no more than its chunk still has room for";
    const std::uint64_t stored = cache_->Stats().entries;
    for (int beat = 0; beat < 20; ++beat) {
      // The worker may hear of the session's end later than of the plan.
      if (beat == 2) lease.reset();
      ledger_.OnDirective(Directive({idle}), std::nullopt, {});
      GoOn(seconds(1));
      EXPECT_EQ(cache_->Stats().entries, stored) << beat;
      EXPECT_EQ(queue_.Millicores(job), 3000U) << "its lease has not ended";
      EXPECT_EQ(Admits(job), 0U) << beat;
    }
    lease = std::make_unique<const CacheLease>(cache_, job, std::uint64_t{4} << 20);
    wire::JobGrant more = full;
    more.cache_bytes = 2 << 20;
    ledger_.OnDirective(Directive({more}), std::nullopt, {});
    EXPECT_EQ(cache_->Stats().entries, stored);
    EXPECT_GT(Admits(job), 600'000U);
    ledger_.OnDirective({}, std::nullopt, {});
  }
}

// Its room is for whoever needs it; and who reads the same data set has that quota alone.
TEST_F(JobLedgerTest, WhatAnIdleJobHasMakesRoomForOthers) {
  auto lease = std::make_unique<const CacheLease>(cache_, a_, std::uint64_t{4} << 20);
  ledger_.OnDirective(Directive({{.job = a_, .cache_bytes = 4 << 20, .data_set = 7}}), std::nullopt,
                      {});
  ASSERT_GT(Admits(a_), 3'000'000U);
  lease.reset();
  const CacheLease other(cache_, b_, std::uint64_t{4} << 20);
  ledger_.OnDirective(Directive({{.job = a_, .data_set = 7, .idle = true},
                                 {.job = b_, .cache_bytes = 3 << 20, .data_set = 8}}),
                      std::nullopt, {});
  EXPECT_GT(Admits(b_), 2'000'000U);
}

TEST_F(JobLedgerTest, ASessionWithoutALeaseDrainsOnceTheCoordinatorMustKnowOfIt) {
  const SteadyTime before = clock_.Now();
  GoOn(seconds(1));
  const std::vector<JobLedger::Attached> sessions = Sessions();
  const auto directive = Directive({{.job = a_, .millicores = 1000}});
  ledger_.OnDirective(directive, before, sessions);
  ledger_.OnDirective(directive, std::nullopt, sessions);
  GoOn(seconds(30));
  EXPECT_EQ(queue_.Millicores(b_), JobLimits::kDefaultMillicores);
  ledger_.OnDirective(directive, clock_.Now(), sessions);
  GoOn(seconds(10));
  EXPECT_EQ(queue_.Millicores(b_), JobLimits::kLeastMillicores);
  EXPECT_EQ(queue_.Millicores(a_), 1000U);
}

TEST_F(JobLedgerTest, CoresOfStagesGoByWeightAmongThoseWhoHaveWork) {
  std::vector<JobLedger::Attached> sessions{{.job = a_, .stage_batches = 3}, {.job = b_}};
  EXPECT_TRUE(std::isinf(ledger_.StageCores(a_, sessions)));
  queue_.SetLimits(a_, {.millicores = 1000});
  queue_.SetLimits(b_, {.millicores = 3000});
  EXPECT_TRUE(std::isinf(ledger_.StageCores(a_, sessions)));
  sessions[1].stage_batches = 1;
  EXPECT_DOUBLE_EQ(ledger_.StageCores(a_, sessions), 8 * 1 / 4.0);
  sessions.push_back({.job = a_, .stage_batches = 1});  // two of it
  EXPECT_DOUBLE_EQ(ledger_.StageCores(a_, sessions), 8 * 1 / 4.0 / 2);
  EXPECT_DOUBLE_EQ(ledger_.StageCores(b_, sessions), 8 * 3 / 4.0);
  // Native work counts as well, queued or running.
  sessions = {{.job = a_, .stage_batches = 3}};
  const auto work = std::make_shared<Idle>(1);
  queue_.Push(b_, SessionId(1), work);
  EXPECT_DOUBLE_EQ(ledger_.StageCores(a_, sessions), 8 * 1 / 4.0);
  executor_.RunAll();
  EXPECT_TRUE(std::isinf(ledger_.StageCores(a_, sessions)));
}

TEST_F(JobLedgerTest, UsageNamesJobsWithSessionsOrEntriesAndForgetsTheOthers) {
  auto lease = std::make_unique<const CacheLease>(cache_, a_, 10'000);
  const std::uint64_t stored = Admits(a_) / 1000;
  ASSERT_GT(stored, 0U);
  ledger_.AddSamples(a_, 7);
  ledger_.AddStageCpu(a_, 1000);
  ledger_.AddSamples(b_, 5);
  queue_.Push(b_, SessionId(1), std::make_shared<Idle>(3));
  queue_.Charge(b_, Duration(5), 800);
  std::vector<JobLedger::Attached> sessions{{.job = b_, .stage_batches = 2, .stage_samples = 64}};
  std::vector<wire::JobUsage> usage = ledger_.Usage(sessions);
  ASSERT_EQ(usage.size(), 2U);
  EXPECT_EQ(usage[0].job, a_);
  EXPECT_EQ(usage[0].samples, 7U);
  EXPECT_EQ(usage[0].cpu_ns, 1000U);
  EXPECT_EQ(usage[0].cache_entries, stored);
  EXPECT_EQ(usage[0].cache_bytes, cache_->Stats().bytes);
  EXPECT_EQ(usage[1].job, b_);
  EXPECT_EQ(usage[1].samples, 5U);
  EXPECT_EQ(usage[1].source_bytes, 800U);
  EXPECT_EQ(usage[1].queued_samples, 64U + 3);
  EXPECT_EQ(usage[1].cache_entries, 0U);
  // b ends; a has gone, but its entries are there.
  queue_.Forget(SessionId(1));
  lease.reset();
  usage = ledger_.Usage({});
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage[0].job, a_);
  EXPECT_THAT(queue_.Usage(), IsEmpty());
  executor_.RunAll();
}

}  // namespace
}  // namespace headrace::dataworker
