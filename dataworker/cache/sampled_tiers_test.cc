// What a tier tells of its entries, so that those of several workers can be compared.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/cache_registry.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kSampledRoom = std::uint64_t{2} << 20;
constexpr std::size_t kSampledBytes = 3000;
constexpr std::uint64_t kSampledKeys = 1000;

class SampledTiersTest : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<CacheTier> Make() {
    auto made = BuiltinCacheTiers().Make({GetParam(), {{"size", std::to_string(kSampledRoom)}}});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  // The sample of all jobs is that of all entries which are found.
  static void Check(CacheTier& tier, std::vector<std::int64_t>& versions) {
    EntrySample told;
    std::uint64_t entries = 0;
    for (const JobCacheStats& stats : tier.JobStats()) {
      told.Add(stats.sample);
      entries += stats.entries;
    }
    std::vector<std::uint64_t> there;
    std::uint64_t found = 0;
    for (std::uint64_t inode = 0; inode < kSampledKeys; ++inode) {
      const CacheKey key = Key(inode, versions[inode]);
      if (!Ask(tier, kJob, key, [] { std::this_thread::yield(); })) continue;
      ++found;
      const std::uint64_t name = SampledName(key.content, key.form);
      if (name < told.below) there.push_back(name);
    }
    ASSERT_EQ(found, entries);
    std::ranges::sort(there);
    ASSERT_EQ(told.names, there);
    ASSERT_EQ(told.below > 0, entries > 0);
  }
};

TEST_P(SampledTiersTest, TheSampleIsOfTheEntriesWhateverComesAndGoes) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto tier = Make();
    tier->AddJob(kJob, kNoQuota);
    tier->AddJob(kOther, kNoQuota);
    std::vector<std::int64_t> versions(kSampledKeys, 0);
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t inode = random() % kSampledKeys, what = random() % 500;
      const JobId job = random() % 2 == 0 ? kJob : kOther;
      if (what == 0) tier->ShareQuota(job, 77);
      if (what == 1) tier->SetQuota(job, kSampledRoom / 4);
      if (what == 2) tier->SetQuota(job, kSampledRoom);
      if (what == 3) tier->Doom({job});
      if (what == 3) tier->SweepDoomed();
      if (what >= 4 && what < 40) tier->Forget(Key(inode, versions[inode]));
      if (what >= 40 && what < 50) {  // the file has changed, and somebody looks for it
        ++versions[inode];
        (void)tier->Find(job, Key(inode, versions[inode]));
      }
      if (what >= 50) Put(*tier, job, inode, kSampledBytes, versions[inode]);
      if (step % 500 > 0) continue;
      ASSERT_NO_FATAL_FAILURE(Check(*tier, versions));
    }
    tier->RemoveJob(kOther);
    ASSERT_NO_FATAL_FAILURE(Check(*tier, versions));
  }
}

TEST_P(SampledTiersTest, TwoCachesThatHaveTheSameTellTheSame) {
  const auto a = Make(), b = Make();
  a->AddJob(kJob, kNoQuota);
  b->AddJob(kOther, kNoQuota);
  for (std::uint64_t inode = 0; inode < 400; ++inode) {
    ASSERT_TRUE(Put(*a, kJob, inode, kSampledBytes));
    ASSERT_TRUE(Put(*b, kOther, 399 - inode, kSampledBytes));
  }
  EntrySample both = StatsOf(*a, kJob).sample, other = StatsOf(*b, kOther).sample;
  EXPECT_GE(both.names.size(), 32U);
  both.Add(other);
  ASSERT_EQ(both.names.size() % 2, 0U);
  for (std::size_t i = 0; i < both.names.size(); i += 2) {
    EXPECT_EQ(both.names[i], both.names[i + 1]);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, SampledTiersTest, testing::Values("memory", "disk"),
                         [](const auto& tier) { return tier.param; });

}  // namespace
}  // namespace headrace::dataworker
