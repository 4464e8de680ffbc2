#include "dataworker/cache/memory/memory_cache.h"

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

const JobId kJob(1);
const JobId kOther(2);
constexpr std::uint64_t kNoQuota = std::uint64_t{1} << 60;

CacheKey Key(std::uint64_t inode, std::int64_t version = 0, std::uint64_t form = 7) {
  return {.content = {.device = 1, .inode = inode, .size = 10, .mtime_ns = version, .ctime_ns = 0},
          .form = form};
}

// Content that tells from which key and version it is, everywhere.
Bytes Payload(std::uint64_t inode, std::int64_t version, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(inode * 31 + static_cast<std::uint64_t>(version) * 7 + i);
  }
  return bytes;
}

bool Put(SampleCache& cache, JobId job, std::uint64_t inode, std::size_t size,
         std::int64_t version = 0) {
  auto claim = cache.TryClaim(job, Key(inode, version), size);
  return claim && claim.Commit(Payload(inode, version, size));
}

bool Equal(ByteSpan a, ByteSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

TEST(MemoryCache, RandomSequencesEqualTheModelAndKeepTheBudget) {
  const unsigned seed =
      ::testing::UnitTest::GetInstance()->random_seed() != 0
          ? static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed())
          : 20260101U;
  SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
  std::mt19937 random(seed);
  for (const std::uint64_t budget :
       {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{200'000}, std::uint64_t{8} << 20}) {
    auto cache = MakeMemoryCache(budget);
    cache->AddJob(kJob, kNoQuota);
    std::map<std::uint64_t, std::pair<std::int64_t, Bytes>> model;  // inode -> version, content
    for (int step = 0; step < 10'000; ++step) {
      const std::uint64_t inode = random() % 200;
      const std::int64_t version = static_cast<std::int64_t>(random() % 40 == 0 ? random() % 3 : 0);
      const CachePin pin = cache->Find(kJob, Key(inode, version));
      const auto known = model.find(inode);
      if (known != model.end() && known->second.first == version) {
        ASSERT_TRUE(pin);
        ASSERT_TRUE(Equal(pin.bytes(), known->second.second));
        ASSERT_FALSE(cache->TryClaim(kJob, Key(inode, version), 1));  // never stored twice
        continue;
      }
      ASSERT_FALSE(pin);
      if (known != model.end()) model.erase(known);  // an older version is gone now
      const std::size_t size = random() % 9 == 0 ? random() % 100'000 : random() % 3000;
      auto claim = cache->TryClaim(kJob, Key(inode, version), size);
      if (!claim) continue;
      ASSERT_FALSE(cache->TryClaim(kJob, Key(inode, version), size));
      ASSERT_FALSE(cache->Find(kJob, Key(inode, version)));
      if (random() % 10 == 0) continue;  // the sample failed: the claim goes back
      Bytes content = Payload(inode, version, size);
      if (claim.Commit(content)) model[inode] = {version, std::move(content)};
      const CacheStats stats = cache->Stats();
      ASSERT_LE(stats.bytes, budget);
      ASSERT_EQ(stats.entries, model.size());
      std::uint64_t payload_bytes = 0;
      for (const auto& [_, entry] : model) payload_bytes += entry.second.size();
      ASSERT_GE(stats.bytes, payload_bytes);
    }
  }
}

TEST(MemoryCache, FillsTheBudgetWithSamplesOfRealSize) {
  constexpr std::uint64_t kBudget = std::uint64_t{256} << 20;
  auto cache = MakeMemoryCache(kBudget);
  cache->AddJob(kJob, kNoQuota);
  std::uint64_t stored = 0;
  const Bytes payload = Payload(1, 0, 605'000);
  for (std::uint64_t inode = 0; inode < 1000; ++inode) {
    auto claim = cache->TryClaim(kJob, Key(inode), payload.size());
    if (claim && claim.Commit(payload)) stored += payload.size();
  }
  EXPECT_GT(stored, kBudget * 92 / 100);
  EXPECT_LE(cache->Stats().bytes, kBudget);
}

TEST(MemoryCache, AdmitsUntilFullAndNeverEvictsForTheSameJob) {
  auto cache = MakeMemoryCache(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  std::vector<std::uint64_t> admitted;
  for (std::uint64_t inode = 0; inode < 100; ++inode) {
    if (Put(*cache, kJob, inode, 30'000)) admitted.push_back(inode);
  }
  EXPECT_GT(admitted.size(), 20U);
  EXPECT_LT(admitted.size(), 35U);
  for (const std::uint64_t inode : admitted) EXPECT_TRUE(cache->Find(kJob, Key(inode)));
}

TEST(MemoryCache, AChangedFileIsAMissAndItsOldEntryGoes) {
  auto cache = MakeMemoryCache(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  ASSERT_TRUE(Put(*cache, kJob, 5, 1000, /*version=*/1));
  EXPECT_FALSE(cache->Find(kJob, Key(5, 2)));
  EXPECT_EQ(cache->Stats().entries, 0U);
  EXPECT_EQ(cache->Stats().bytes, 0U);
  ASSERT_TRUE(Put(*cache, kJob, 5, 1000, /*version=*/2));
  EXPECT_TRUE(Equal(cache->Find(kJob, Key(5, 2)).bytes(), Payload(5, 2, 1000)));
}

TEST(MemoryCache, EncodedAndDecodedFormsOfOneFileAreTwoEntries) {
  auto cache = MakeMemoryCache(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  ASSERT_TRUE(cache->TryClaim(kJob, Key(5, 0, 0), 3).Commit(Payload(1, 0, 3)));
  EXPECT_FALSE(cache->Find(kJob, Key(5, 0, 9)));
  EXPECT_TRUE(cache->Find(kJob, Key(5, 0, 0)));
}

TEST(MemoryCache, JobsShareEntriesAndEachKeepsItsQuota) {
  auto cache = MakeMemoryCache(4 << 20);
  cache->AddJob(kJob, 200'000);
  cache->AddJob(kOther, 0);
  int stored = 0;
  for (std::uint64_t inode = 0; inode < 50; ++inode) stored += Put(*cache, kJob, inode, 30'000);
  EXPECT_GE(stored, 4);
  EXPECT_LE(stored, 6);
  EXPECT_LE(cache->Stats().bytes, 200'000U);
  EXPECT_FALSE(Put(*cache, kOther, 1000, 100));
  EXPECT_TRUE(cache->Find(kOther, Key(0)));
}

JobCacheStats StatsOf(const SampleCache& cache, JobId job) {
  for (const JobCacheStats& stats : cache.JobStats()) {
    if (stats.job == job) return stats;
  }
  return {.job = job};
}

// How many of the job's first `count` samples are there.
int Kept(SampleCache& cache, JobId job, std::uint64_t count, std::uint64_t first = 0) {
  int kept = 0;
  for (std::uint64_t inode = first; inode < first + count; ++inode) {
    if (const CachePin pin = cache.Find(job, Key(inode))) {
      kept += Equal(pin.bytes(), Payload(inode, 0, pin.bytes().size())) ? 1 : -1000;
    }
  }
  return kept;
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

TEST(MemoryCache, AQuotaIsTheJobsWhenItComesBack) {
  auto cache = MakeMemoryCache(8 << 20);
  for (int times = 0; times < 3; ++times) {
    cache->AddJob(kJob, 1 << 20);
    for (std::uint64_t inode = 0; inode < 200; ++inode) {
      Put(*cache, kJob, inode + static_cast<std::uint64_t>(times) * 1000, 30'000);
    }
    EXPECT_LE(cache->Stats().bytes, std::uint64_t{1} << 20);
    cache->RemoveJob(kJob);
  }
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

TEST(MemoryCache, WhatIsInUseIsNotTakenAndGoesLater) {
  auto cache = MakeMemoryCache(8 << 20);
  cache->AddJob(kJob, kNoQuota);
  for (std::uint64_t inode = 0; inode < 100; ++inode) Put(*cache, kJob, inode, 30'000);
  CachePin pin = cache->Find(kJob, Key(40));
  auto claim = cache->TryClaim(kJob, Key(2000), 30'000);
  ASSERT_TRUE(pin && claim);
  cache->SetQuota(kJob, 0);
  EXPECT_GT(StatsOf(*cache, kJob).entries, 0U);
  EXPECT_TRUE(cache->Find(kJob, Key(40)));
  EXPECT_TRUE(Equal(pin.bytes(), Payload(40, 0, 30'000)));
  EXPECT_FALSE(claim.Commit(Payload(2000, 0, 30'000)));
  pin = CachePin();
  cache->SetQuota(kJob, 0);
  EXPECT_EQ(StatsOf(*cache, kJob).entries, 0U);
  EXPECT_EQ(cache->Stats().bytes, 0U);
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

TEST(MemoryCache, EachJobIsToldItsEntriesHitsAndMisses) {
  auto cache = MakeMemoryCache(8 << 20);
  cache->AddJob(kJob, kNoQuota);
  cache->AddJob(kOther, kNoQuota);
  for (std::uint64_t inode = 0; inode < 10; ++inode) Put(*cache, kJob, inode, 30'000);
  EXPECT_EQ(Kept(*cache, kJob, 15), 10);
  EXPECT_EQ(Kept(*cache, kOther, 4), 4);
  const JobCacheStats first = StatsOf(*cache, kJob), second = StatsOf(*cache, kOther);
  EXPECT_EQ(first.entries, 10U);
  EXPECT_EQ(first.bytes, cache->Stats().bytes);
  EXPECT_EQ(first.hits, 10U);
  EXPECT_EQ(first.misses, 5U);
  EXPECT_EQ(second.entries + second.bytes + second.misses, 0U);
  EXPECT_EQ(second.hits, 4U);
  EXPECT_EQ(cache->Stats().hits, 14U);
  EXPECT_EQ(cache->Stats().misses, 5U);
  cache->RemoveJob(kOther);
  cache->RemoveJob(kJob);
  ASSERT_EQ(cache->JobStats().size(), 1U);  // it has entries
  EXPECT_EQ(cache->JobStats()[0].job, kJob);
}

TEST(MemoryCache, AJobThatHasGoneGivesWayExceptWhatAnotherJobUses) {
  auto cache = MakeMemoryCache(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  for (std::uint64_t inode = 0; inode < 100; ++inode) Put(*cache, kJob, inode, 30'000);
  cache->RemoveJob(kJob);
  EXPECT_TRUE(cache->Find(kJob, Key(0)));
  cache->AddJob(kOther, kNoQuota);
  EXPECT_TRUE(cache->Find(kOther, Key(3)));
  int stored = 0;
  for (std::uint64_t inode = 1000; inode < 1100; ++inode) {
    stored += Put(*cache, kOther, inode, 30'000);
    ASSERT_LE(cache->Stats().bytes, std::uint64_t{1} << 20);
  }
  EXPECT_GT(stored, 20);
  EXPECT_TRUE(cache->Find(kOther, Key(3)));
  EXPECT_FALSE(cache->Find(kOther, Key(40)) && cache->Find(kOther, Key(0)));
}

TEST(MemoryCache, APinOutlivesItsEntry) {
  auto cache = MakeMemoryCache(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  ASSERT_TRUE(Put(*cache, kJob, 5, 1000, 1));
  const CachePin pin = cache->Find(kJob, Key(5, 1));
  EXPECT_FALSE(cache->Find(kJob, Key(5, 2)));
  EXPECT_GT(cache->Stats().bytes, 0U);  // its memory is still there, and counted
  cache.reset();
  EXPECT_TRUE(Equal(pin.bytes(), Payload(5, 1, 1000)));
}

TEST(MemoryCache, ThreadsShareOneCopyOfEachSample) {
  constexpr std::uint64_t kBudget = 2 << 20;
  auto cache = MakeMemoryCache(kBudget);
  cache->AddJob(kJob, kNoQuota);
  std::atomic<int> wrong = 0;
  std::atomic<int> over = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        for (int step = 0; step < 3000; ++step) {
          const std::uint64_t inode = random() % 300;
          const std::int64_t version = step / 1500;  // every file changes once
          const std::size_t size = 1000 + inode * 50;
          if (const CachePin pin = cache->Find(kJob, Key(inode, version))) {
            if (!Equal(pin.bytes(), Payload(inode, version, size))) ++wrong;
          } else if (auto claim = cache->TryClaim(kJob, Key(inode, version), size)) {
            claim.Commit(Payload(inode, version, size));
          }
          if (cache->Stats().bytes > kBudget) ++over;
          if (random() % 64 == 0) cache->SetQuota(kJob, kBudget / (1 + random() % 4));
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(over, 0);
  cache->SetQuota(kJob, 0);
  EXPECT_EQ(cache->Stats().bytes, 0U);  // nothing was lost sight of
  EXPECT_EQ(cache->Stats().entries, 0U);
}

}  // namespace
}  // namespace headrace::dataworker
