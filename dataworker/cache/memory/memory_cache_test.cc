// What the memory tier promises beyond the contract (cache_contract_test.cc): how much it holds.
#include "dataworker/cache/memory/memory_cache.h"

#include "dataworker/cache/cache_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

TEST(MemoryCache, FillsTheBudgetWithSamplesOfRealSize) {
  constexpr std::uint64_t kLargeBudget = std::uint64_t{256} << 20;
  auto cache = MakeMemoryCache(kLargeBudget);
  cache->AddJob(kJob, kNoQuota);
  std::uint64_t stored = 0;
  const Bytes payload = Payload(1, 0, 605'000);
  for (std::uint64_t inode = 0; inode < 1000; ++inode) {
    auto claim = cache->TryClaim(kJob, Key(inode), payload.size());
    if (claim && claim.Commit(payload)) stored += payload.size();
  }
  EXPECT_GT(stored, kLargeBudget * 92 / 100);
  EXPECT_LE(cache->Stats().bytes, kLargeBudget);
}

TEST(MemoryCache, AQuotaThatIsSetStandsInPlaceOfThoseOfSessions) {
  auto cache = MakeMemoryCache(8 << 20);
  cache->SetQuota(kJob, 1 << 20);  // before its first session
  cache->AddJob(kJob, kNoQuota);
  int stored = 0;
  for (std::uint64_t inode = 0; inode < 200; ++inode) stored += Put(*cache, kJob, inode, 30'000);
  EXPECT_NEAR(stored, 34, 3);
  EXPECT_LE(StatsOf(*cache, kJob).bytes, std::uint64_t{1} << 20);
  cache->SetQuota(kJob, 2 << 20);  // more is admitted
  for (std::uint64_t inode = 200; inode < 400; ++inode) stored += Put(*cache, kJob, inode, 30'000);
  EXPECT_NEAR(stored, 68, 6);
  EXPECT_LE(StatsOf(*cache, kJob).bytes, std::uint64_t{2} << 20);
  cache->AddJob(kJob, kNoQuota);  // another session changes nothing
  EXPECT_FALSE(Put(*cache, kJob, 1000, 30'000));
  cache->SetQuota(kJob, std::nullopt);
  EXPECT_TRUE(Put(*cache, kJob, 1000, 30'000));
}

TEST(MemoryCache, ASmallerQuotaTakesEntriesOfThatJobAlone) {
  auto cache = MakeMemoryCache(16 << 20);
  cache->AddJob(kJob, kNoQuota);
  cache->AddJob(kOther, kNoQuota);
  for (std::uint64_t inode = 0; inode < 100; ++inode) {
    ASSERT_TRUE(Put(*cache, kJob, inode, 30'000));
    ASSERT_TRUE(Put(*cache, kOther, 1000 + inode, 30'000));
  }
  for (const std::uint64_t quota : {2'000'000U, 700'000U, 700'000U, 0U}) {
    cache->SetQuota(kJob, quota);
    const JobCacheStats stats = StatsOf(*cache, kJob);
    EXPECT_LE(stats.bytes, quota);
    // No more went than the chunk that lies across the border.
    EXPECT_GE(stats.bytes + (16 << 20) / 32 + 4096, quota);
    EXPECT_EQ(Kept(*cache, kJob, 100), static_cast<int>(stats.entries));
    EXPECT_EQ(Kept(*cache, kOther, 100, 1000), 100);
  }
  EXPECT_EQ(cache->Stats().entries, 100U);
  EXPECT_FALSE(Put(*cache, kJob, 5000, 100));
  cache->SetQuota(kJob, 2'000'000);
  EXPECT_TRUE(Put(*cache, kJob, 5000, 100));
}

TEST(MemoryCache, SamplesThatAnotherJobUsesAreTakenLast) {
  auto cache = MakeMemoryCache(16 << 20);
  cache->AddJob(kJob, kNoQuota);
  cache->AddJob(kOther, 0);
  for (std::uint64_t inode = 0; inode < 200; ++inode) Put(*cache, kJob, inode, 30'000);
  EXPECT_EQ(Kept(*cache, kOther, 60), 60);  // the oldest
  cache->SetQuota(kJob, 200 * 31'000 / 2);
  EXPECT_EQ(Kept(*cache, kOther, 60), 60);
  cache->SetQuota(kJob, 0);
  EXPECT_EQ(Kept(*cache, kOther, 60), 0);
}

}  // namespace
}  // namespace headrace::dataworker
