// Jobs of one data set have one quota together.
#include <gtest/gtest.h>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/memory/memory_cache.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kDataSet = 77;
constexpr std::uint64_t kBudget = std::uint64_t{8} << 20;
constexpr std::uint64_t kQuota = std::uint64_t{1} << 20;
constexpr std::size_t kEntry = 30'000;
constexpr std::uint64_t kMany = 400;  // more entries than the budget has room for

class SharedQuotaTest : public testing::Test {
 protected:
  void Join(JobId job, std::uint64_t quota = kQuota, std::uint64_t data_set = kDataSet) {
    cache_->ShareQuota(job, data_set);
    cache_->SetQuota(job, quota);
    cache_->AddJob(job, 0);
  }
  int Fill(JobId job, std::uint64_t first, std::uint64_t count = kMany) {
    int stored = 0;
    for (std::uint64_t inode = first; inode < first + count; ++inode) {
      stored += Put(*cache_, job, inode, kEntry) ? 1 : 0;
    }
    return stored;
  }
  const std::unique_ptr<CacheTier> cache_ = MakeMemoryCache(kBudget);
};

TEST_F(SharedQuotaTest, WhoComesLaterTakesNothingAndAddsNothing) {
  Join(kJob);
  const int kept = Fill(kJob, 0);
  ASSERT_GT(kept, 30);
  Join(kOther);
  EXPECT_EQ(Kept(*cache_, kOther, static_cast<std::uint64_t>(kept)), kept);
  EXPECT_EQ(Fill(kOther, 1000), 0) << "the quota is of both";
  EXPECT_EQ(Kept(*cache_, kJob, static_cast<std::uint64_t>(kept)), kept);
}

TEST_F(SharedQuotaTest, WhatOneLeavesUnusedIsTheOthers) {
  Join(kJob);
  Join(kOther);
  const int first = Fill(kJob, 0, 10), rest = Fill(kOther, 1000);
  EXPECT_EQ(first, 10);
  EXPECT_GT(rest, 20);
  EXPECT_LE(cache_->Stats().bytes, kQuota);
}

TEST_F(SharedQuotaTest, WhatAnEndedJobHasLeftStaysWhileAnotherOfTheDataSetRuns) {
  Join(kJob);
  const int kept = Fill(kJob, 0);
  Join(kOther);
  cache_->RemoveJob(kJob);  // and the other has not read anything yet
  EXPECT_EQ(StatsOf(*cache_, kOther).entries, static_cast<std::uint64_t>(kept));
  EXPECT_EQ(StatsOf(*cache_, kJob).entries, 0U);
  const JobId stranger(3);
  Join(stranger, kBudget, kDataSet + 1);
  EXPECT_GT(Fill(stranger, 5000), 100) << "it has the rest of the budget";
  EXPECT_EQ(Kept(*cache_, kOther, static_cast<std::uint64_t>(kept)), kept);
}

TEST_F(SharedQuotaTest, AJobThatComesAfterTheEndHasWhatIsThereInItsQuota) {
  Join(kJob);
  const int kept = Fill(kJob, 0);
  cache_->RemoveJob(kJob);
  cache_->FreezeQuota(kJob);
  Join(kOther);
  EXPECT_EQ(StatsOf(*cache_, kOther).entries, static_cast<std::uint64_t>(kept));
  EXPECT_EQ(Kept(*cache_, kOther, static_cast<std::uint64_t>(kept)), kept);
  EXPECT_EQ(Fill(kOther, 1000), 0);
}

// It reads other samples of the data set: a part of it, say.
TEST_F(SharedQuotaTest, WhatNoJobUsesAnyMoreMakesRoomForTheNextOnesSamples) {
  Join(kJob);
  const int kept = Fill(kJob, 0);
  cache_->RemoveJob(kJob);
  Join(kOther);
  ASSERT_EQ(Kept(*cache_, kOther, 1), 1);
  const int stored = Fill(kOther, 1000);
  EXPECT_GT(stored, kept * 7 / 10);
  EXPECT_EQ(Kept(*cache_, kOther, 1), 1) << "what it uses stays";
  EXPECT_LE(cache_->Stats().bytes, kQuota);
}

// A pinned data set: what is there stays, and is not exchanged for other samples of it.
TEST_F(SharedQuotaTest, WhatIsKeptMakesNoRoomForTheNextOnesSamples) {
  Join(kJob);
  const int kept = Fill(kJob, 0);
  cache_->SetKept({kJob, kOther});
  cache_->RemoveJob(kJob);
  Join(kOther);
  EXPECT_EQ(Fill(kOther, 1000), 0);
  EXPECT_EQ(StatsOf(*cache_, kOther).entries, static_cast<std::uint64_t>(kept));
  cache_->SetKept({});
  EXPECT_GT(Fill(kOther, 2000), kept / 2);
}

// Then it is of no use, pinned or not.
TEST_F(SharedQuotaTest, WhatIsKeptInAFormThatTheJobHasGivenUpMakesRoom) {
  cache_->SetKept({kJob});
  Join(kJob, kBudget);
  const int kept = Fill(kJob, 0);
  ASSERT_GT(kept, 200);
  cache_->ShareQuota(kJob, kDataSet + 1);
  cache_->SetQuota(kJob, kBudget);
  EXPECT_GT(Fill(kJob, 1000), kept * 9 / 10);
}

TEST_F(SharedQuotaTest, ADropTakesWhatAnEndedJobOfTheDataSetHasLeft) {
  Join(kJob);
  ASSERT_GT(Fill(kJob, 0), 20);
  Join(kOther);
  cache_->RemoveJob(kJob);  // its entries are the other one's now
  cache_->Doom({kJob, kOther});
  EXPECT_TRUE(cache_->SweepDoomed());
  EXPECT_EQ(cache_->Stats().entries, 0U);
  EXPECT_GT(Fill(kOther, 1000), 20) << "the room is free";
}

TEST_F(SharedQuotaTest, ASmallerQuotaIsOfAll) {
  Join(kJob);
  Join(kOther);
  Fill(kJob, 0, 15);
  Fill(kOther, 1000, 15);
  cache_->SetQuota(kOther, kQuota / 2);
  EXPECT_LE(cache_->Stats().bytes, kQuota / 2);
  EXPECT_GT(cache_->Stats().entries, 10U);
  // One that leaves the account takes none of it along.
  const std::uint64_t entries = cache_->Stats().entries;
  cache_->RemoveJob(kJob);
  cache_->SetQuota(kJob, std::nullopt);
  EXPECT_EQ(cache_->Stats().entries, entries);
}

// Another form of the samples, say. What was kept in the old one goes when somebody needs its room.
TEST_F(SharedQuotaTest, AJobThatTurnsToAnotherDataSetLeavesItsEntriesToOthers) {
  Join(kJob, kBudget);
  const int kept = Fill(kJob, 0);
  ASSERT_GT(kept, 200);
  cache_->ShareQuota(kJob, kDataSet + 1);
  cache_->SetQuota(kJob, kBudget);
  EXPECT_EQ(cache_->Stats().entries, static_cast<std::uint64_t>(kept));
  EXPECT_GT(Fill(kJob, 1000), kept * 9 / 10);
}

TEST_F(SharedQuotaTest, WhatAJobKeptBeforeItsDataSetWasKnownCounts) {
  cache_->AddJob(kJob, kQuota);
  const int kept = Fill(kJob, 0);
  Join(kJob);
  EXPECT_EQ(Fill(kJob, 1000), 0);
  Join(kOther);
  EXPECT_EQ(Fill(kOther, 2000), 0);
  EXPECT_EQ(Kept(*cache_, kOther, static_cast<std::uint64_t>(kept)), kept);
}

}  // namespace
}  // namespace headrace::dataworker
