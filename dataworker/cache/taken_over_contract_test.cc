// What every cache tier of the registry must hold of memory that another process has filled.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/cache_registry.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

class TakenOverContract : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<CacheTier> Make(std::uint64_t budget) {
    auto made = BuiltinCacheTiers().Make({GetParam(), {{"size", std::to_string(budget)}}});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
};

TEST_P(TakenOverContract, WhatIsTakenOverIsThereOnceAndIsOfferedWhole) {
  auto cache = Make(8 << 20);
  int offered = 0;
  cache->SetOnGivenUp([&](JobId owner, const CacheKey& key, const CachePin& pin, Duration) {
    EXPECT_EQ(owner, kJob);
    EXPECT_TRUE(Equal(pin.bytes(), Payload(key.content.place[1], 0, 30'000)));
    ++offered;
  });
  cache->SetOnSealedGivenUp([&](JobId owner, const auto& memory, const auto& entries) {
    EXPECT_EQ(owner, kJob);
    for (const SealedEntry& entry : entries) {
      const std::uint64_t inode = entry.key.content.place[1];
      EXPECT_EQ(entry.mark, MarkOf(inode));
      EXPECT_EQ(entry.cost, std::chrono::seconds(1));
      EXPECT_TRUE(
          Equal(memory->bytes().subspan(entry.offset, entry.bytes), Payload(inode, 0, 30'000)));
      ++offered;
    }
  });
  EXPECT_EQ(cache->RoomToTakeOver(kJob), 0U) << "it is not attached";
  const SealedSamples early = Sealed({1}, 30'000);
  EXPECT_EQ(cache->TakeOver(kJob, early.memory, early.entries).entries, 0U);
  cache->AddJob(kJob, kNoQuota);
  const SealedSamples first = Sealed({1, 2, 3}, 30'000), second = Sealed({3, 4}, 30'000);
  const std::size_t taken = cache->TakeOver(kJob, first.memory, first.entries).entries;
  if (taken == 0) {  // the tier takes none
    EXPECT_EQ(cache->RoomToTakeOver(kJob), 0U);
    EXPECT_EQ(cache->files(), nullptr);
    return;
  }
  EXPECT_EQ(taken, 3U);
  EXPECT_GT(cache->RoomToTakeOver(kJob), 0U);
  EXPECT_EQ(cache->TakeOver(kJob, second.memory, second.entries).entries, 1U);
  EXPECT_EQ(cache->TakeOver(kJob, second.memory, second.entries).entries, 0U);
  EXPECT_EQ(StatsOf(*cache, kJob).entries, 4U);
  EXPECT_EQ(StatsOf(*cache, kJob).made_in, std::chrono::seconds(4));
  EXPECT_EQ(Kept(*cache, kJob, 4, 1, [] { std::this_thread::yield(); }), 4);
  cache->CountLookups(kJob, 5, 7);
  EXPECT_EQ(StatsOf(*cache, kJob).hits, 9U);
  EXPECT_EQ(StatsOf(*cache, kJob).misses, 7U);
  cache->SetQuota(kJob, 0);
  EXPECT_EQ(offered, 4);
  EXPECT_EQ(StatsOf(*cache, kJob).entries, 0U);
  EXPECT_EQ(cache->RoomToTakeOver(kJob), 0U);
}

TEST_P(TakenOverContract, WhatIsTakenOverKeepsTheBudget) {
  constexpr std::uint64_t kBytesOfTier = 4 << 20;
  auto cache = Make(kBytesOfTier);
  cache->AddJob(kJob, kNoQuota);
  std::size_t taken = 0;
  for (std::uint64_t inode = 0; inode < 400; inode += 4) {
    const SealedSamples some = Sealed({inode, inode + 1, inode + 2, inode + 3}, 30'000);
    taken += cache->TakeOver(kJob, some.memory, some.entries).entries;
    ASSERT_LE(cache->Stats().bytes, kBytesOfTier);
  }
  EXPECT_LT(taken, 140U);
  if (taken > 0 || cache->files() != nullptr) {
    EXPECT_GT(taken, 100U);
  }
}

// In a pool that runs for long a cache is full of what ended jobs have left. Who asks for room first must be told of that
// room, as who just adds finds it.
TEST_P(TakenOverContract, WhatEndedJobsHaveLeftIsRoom) {
  auto cache = Make(4 << 20);
  cache->AddJob(kJob, kNoQuota);
  std::uint64_t inode = 0;
  const auto fill = [&](JobId job) {
    std::size_t taken = 0;
    for (int i = 0; i < 100; ++i, inode += 4) {
      if (cache->RoomToTakeOver(job) < 150'000) break;
      const SealedSamples some = Sealed({inode, inode + 1, inode + 2, inode + 3}, 30'000);
      taken += cache->TakeOver(job, some.memory, some.entries).entries;
    }
    return taken;
  };
  const std::size_t all = fill(kJob);
  if (all == 0) return;  // the tier takes none
  EXPECT_GT(all, 90U);
  cache->AddJob(kOther, kNoQuota);
  EXPECT_EQ(fill(kOther), 0U) << "what a running job has is no room";
  cache->RemoveJob(kJob);
  EXPECT_GE(fill(kOther), all);
  EXPECT_EQ(fill(kOther), 0U) << "nor is its own";
  cache->RemoveJob(kOther);
  cache->SetKept({kOther});
  cache->AddJob(kJob, kNoQuota);
  EXPECT_EQ(fill(kJob), 0U) << "nor what a pin keeps";
  cache->SetKept({});
  if (cache->files() != nullptr) return;  // whose files are larger than such a quota
  cache->SetQuota(kJob, 1 << 20);
  const std::size_t part = fill(kJob);
  EXPECT_GT(part, 20U);
  EXPECT_LT(part, 40U) << "within its quota";
}

std::vector<std::string> TiersOfTheRegistry() {
  std::vector<std::string> names;
  for (const CacheTierDescriptor* tier : BuiltinCacheTiers().All()) names.push_back(tier->name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, TakenOverContract, testing::ValuesIn(TiersOfTheRegistry()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace headrace::dataworker
