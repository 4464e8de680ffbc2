#include "dataworker/cache/sample_store.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "dataworker/cache/sample_store_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kSize = 3000;

TEST(SampleStore, NewEntriesFillTheFastestTierFirst) {
  Stack stack(true, {256 << 10, 256 << 10}, 1);
  stack.store->AddJob(kJob, kNoQuota);
  std::uint64_t stored = 0;
  for (std::uint64_t inode = 0; inode < 300; ++inode) {
    stored += Put(*stack.store, kJob, inode, kSize) ? 1 : 0;
    EXPECT_TRUE(stack.entries(1) > 0 || stack.entries(0) == inode + 1);
  }
  EXPECT_GT(stack.entries(0), 60U);
  EXPECT_GT(stack.entries(1), 60U);
  EXPECT_EQ(stored, stack.entries(0) + stack.entries(1));
  for (std::uint64_t inode = 0; inode < stored; ++inode) {
    const CacheLookup found = stack.Get(inode);
    ASSERT_TRUE(found.pin) << inode;
    EXPECT_TRUE(Equal(found.pin.bytes(), Payload(inode, 0, kSize)));
    EXPECT_EQ(found.tier, inode < stack.entries(0) ? 0U : 1U);
  }
  const CacheStats all = stack.store->Stats();
  EXPECT_EQ(all.hits, stored);
  EXPECT_EQ(all.misses, 0U);
  EXPECT_FALSE(stack.Get(1000).pin);
  EXPECT_EQ(stack.store->Stats().misses, 1U);
  EXPECT_EQ(stack.store->TierStats()[0].second.misses, stack.entries(1) + 1);
}

TEST(SampleStore, WhatAQuotaTakesMovesDownAndComesBackUp) {
  Stack stack(true, {1 << 20, 1 << 20}, 1);
  stack.store->AddJob(kJob, kNoQuota);
  for (std::uint64_t inode = 0; inode < 20; ++inode) Put(*stack.store, kJob, inode, kSize);
  EXPECT_EQ(stack.entries(0), 20U);
  stack.store->SetQuota(kJob, StoreQuota{.tiers = {{"tier0", 1 << 20}, {"tier1", 0}}});
  EXPECT_EQ(stack.entries(0), 20U);
  stack.store->SetQuota(kJob, StoreQuota{.tiers = {{"tier1", 1 << 20}}});
  EXPECT_EQ(stack.entries(0), 0U);
  EXPECT_EQ(stack.entries(1), 20U);
  stack.store->SetQuota(kJob, StoreQuota{.tiers = {{"tier0", 1 << 20}, {"tier1", 1 << 20}}});
  for (std::uint64_t inode = 0; inode < 20; ++inode) {
    EXPECT_EQ(stack.Get(inode).tier, 1U) << "it is found below";
    EXPECT_EQ(stack.Get(inode).tier, 0U) << "it has moved up";
  }
  EXPECT_EQ(stack.entries(0), 20U);
  EXPECT_EQ(stack.entries(1), 0U);
  stack.store->FreezeQuota(kJob);
  EXPECT_EQ(stack.entries(0), 20U);
  EXPECT_FALSE(Put(*stack.store, kJob, 100, kSize));
}

TEST(SampleStore, AQuotaWithoutTiersFillsTheFastestFirst) {
  Stack stack(true, {256 << 10, 1 << 20}, 1);
  stack.store->AddJob(kJob, 320 << 10);
  for (std::uint64_t inode = 0; inode < 300; ++inode) Put(*stack.store, kJob, inode, kSize);
  EXPECT_GT(StatsOf(*stack.tiers[0], kJob).bytes, std::uint64_t{200} << 10);
  EXPECT_LE(StatsOf(*stack.tiers[1], kJob).bytes, std::uint64_t{64} << 10);
  EXPECT_GT(StatsOf(*stack.tiers[1], kJob).bytes, std::uint64_t{50} << 10);
  stack.store->SetQuota(kJob, StoreQuota{.bytes = 0});
  EXPECT_EQ(stack.store->Stats().bytes, 0U);
}

TEST(SampleStore, ASampleThatIsBeingMadeIsNotMadeAgainBelow) {
  Stack stack(true, {1 << 20, 1 << 20}, 1);
  stack.store->AddJob(kJob, kNoQuota);
  const auto claim = stack.store->TryClaim(kJob, Key(1), kSize);
  ASSERT_TRUE(claim);
  EXPECT_FALSE(stack.store->TryClaim(kJob, Key(1), kSize));
  EXPECT_EQ(stack.entries(1), 0U);
}

TEST(SampleStore, AnEntryThatIsLargerThanExpectedGoesToATierWithRoom) {
  Stack stack(true, {64 << 10, 1 << 20}, 1);
  stack.store->AddJob(kJob, kNoQuota);
  auto claim = stack.store->TryClaim(kJob, Key(1), 10);
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim.Commit(Payload(1, 0, 100'000)));
  EXPECT_EQ(stack.entries(0), 0U);
  EXPECT_EQ(stack.entries(1), 1U);
}

TEST(SampleStore, AMissOfASlowTierGoesOnToTheNext) {
  Stack stack(false, {1 << 20, 1 << 20, 1 << 20}, 1);
  stack.store->AddJob(kJob, kNoQuota);
  stack.slow[0]->SetFaults({.full = 0, .corrupt = 1});
  EXPECT_TRUE(Put(*stack.tiers[0], kJob, 1, kSize));
  EXPECT_TRUE(Put(*stack.tiers[2], kJob, 1, kSize));
  const CacheLookup found = stack.Get(1);
  EXPECT_EQ(found.tier, 2U);
  ASSERT_TRUE(found.pin);
  EXPECT_TRUE(Equal(found.pin.bytes(), Payload(1, 0, kSize)));
}

TEST(SampleStore, ASlowTierThatIsFullGoneOrCorruptIsAMiss) {
  Stack stack(true, {0, 1 << 20}, 1);
  stack.store->AddJob(kJob, kNoQuota);
  stack.slow[0]->SetFaults({.full = 1, .corrupt = 0});
  EXPECT_FALSE(Put(*stack.store, kJob, 1, kSize));
  stack.slow[0]->SetFaults({.full = 0, .corrupt = 1});
  EXPECT_TRUE(Put(*stack.store, kJob, 1, kSize));
  EXPECT_FALSE(stack.Get(1).pin);
  stack.slow[0]->SetFaults({});
  EXPECT_TRUE(Put(*stack.store, kJob, 1, kSize));
  const CacheLookup found = stack.Get(1);
  ASSERT_TRUE(found.pin);
  stack.slow[0]->TakeAway();
  EXPECT_FALSE(stack.Get(1).pin);
  EXPECT_FALSE(Put(*stack.store, kJob, 2, kSize));
  EXPECT_TRUE(Equal(found.pin.bytes(), Payload(1, 0, kSize))) << "the pin stays";
}

TEST(SampleStore, FetchedEntriesInMemoryAreBounded) {
  constexpr std::size_t kMost = 4;
  Stack stack(true, {0, 1 << 20}, 1, kMost);
  stack.store->AddJob(kJob, kNoQuota);
  std::map<std::uint64_t, CachePin> found;
  for (std::uint64_t inode = 0; inode < 30; ++inode) {
    ASSERT_TRUE(Put(*stack.store, kJob, inode, kSize));
    const CacheLookup lookup = stack.store->Find(kJob, Key(inode));
    ASSERT_TRUE(lookup.later);
    stack.store->FindLater(kJob, Key(inode), lookup, [&found, inode](CacheLookup answer) {
      found[inode] = std::move(answer.pin);
    });
  }
  EXPECT_EQ(stack.slow[0]->open(), kMost);
  while (stack.AnswerOne()) {
  }
  EXPECT_EQ(found.size(), kMost) << "the places are held by pins";
  std::set<std::uint64_t> seen;
  while (!found.empty()) {
    const auto first = found.begin();
    EXPECT_TRUE(Equal(first->second.bytes(), Payload(first->first, 0, kSize)));
    seen.insert(first->first);
    found.erase(first);
    stack.AnswerOne();
    EXPECT_LE(found.size(), kMost);
  }
  EXPECT_EQ(seen.size(), 30U);
}

TEST(SampleStore, StopAnswersWhatIsOpenAndWhatWaits) {
  Stack stack(true, {0, 1 << 20}, 1, 2);
  stack.store->AddJob(kJob, kNoQuota);
  int answers = 0;
  std::vector<CachePin> pins;  // both places
  for (std::uint64_t inode = 100; inode < 102; ++inode) {
    ASSERT_TRUE(Put(*stack.store, kJob, inode, kSize));
    pins.push_back(stack.Get(inode).pin);
  }
  const auto ask = [&](std::uint64_t inode) {
    const CacheLookup lookup = stack.store->Find(kJob, Key(inode));
    ASSERT_TRUE(lookup.later);
    stack.store->FindLater(kJob, Key(inode), lookup,
                           [&](const CacheLookup& answer) { answers += !answer.pin; });
  };
  for (std::uint64_t inode = 0; inode < 10; ++inode) {
    ASSERT_TRUE(Put(*stack.store, kJob, inode, kSize));
    ask(inode);
  }
  EXPECT_EQ(answers, 0);
  stack.store->Stop();
  EXPECT_EQ(answers, 10);
  ask(0);
  EXPECT_EQ(answers, 11);
}

// The eviction order of the faster tier needs it.
TEST(SampleStore, WhatAnEntryTookToMakeGoesWithItToAFasterTier) {
  Stack stack(false, {256 << 10, 256 << 10}, 1);
  constexpr Duration kCost = std::chrono::milliseconds(7);
  stack.store->AddJob(kJob, kNoQuota);
  stack.store->AddJob(kOther, kNoQuota);
  while (Put(*stack.tiers[0], kOther, stack.entries(0) + 1000, kSize)) {
  }
  auto claim = stack.store->TryClaim(kJob, Key(7), kSize);
  ASSERT_TRUE(claim && claim.Commit(Payload(7, 0, kSize), kCost));
  ASSERT_EQ(stack.entries(1), 1U);
  stack.tiers[0]->SetQuota(kOther, 0);
  ASSERT_TRUE(stack.Get(7).pin);
  EXPECT_EQ(stack.entries(0), 1U);
  EXPECT_EQ(stack.slow[0]->costs().back(), kCost);
}

}  // namespace
}  // namespace headrace::dataworker
