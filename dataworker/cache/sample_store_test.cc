// The store over one to three tiers: the memory tier, and fake slow ones that answer when told.
#include "dataworker/cache/sample_store.h"

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/divide_quota.h"
#include "dataworker/cache/fake_slow_tier.h"
#include "dataworker/cache/memory/memory_cache.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kSize = 3000;

unsigned Seed() {
  const int given = ::testing::UnitTest::GetInstance()->random_seed();
  return given != 0 ? static_cast<unsigned>(given) : 20260101U;
}

struct Stack {
  std::vector<CacheTier*> tiers;
  std::vector<FakeSlowTier*> slow;
  std::vector<std::uint64_t> budgets;
  std::unique_ptr<SampleStore> store;

  // `memory`: the first tier answers at once.
  Stack(bool memory, const std::vector<std::uint64_t>& sizes, unsigned seed,
        std::size_t most_fetches = SampleStore::kMostFetches)
      : budgets(sizes) {
    std::vector<SampleStore::Tier> made;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::unique_ptr<CacheTier> tier;
      if (i == 0 && memory) {
        tier = MakeMemoryCache(sizes[i]);
      } else {
        auto fake = std::make_unique<FakeSlowTier>(sizes[i], seed + static_cast<unsigned>(i));
        slow.push_back(fake.get());
        tier = std::move(fake);
      }
      tiers.push_back(tier.get());
      made.push_back({"tier" + std::to_string(i), std::move(tier)});
    }
    store = std::make_unique<SampleStore>(std::move(made), most_fetches);
  }
  bool AnswerOne() {
    bool any = false;
    for (FakeSlowTier* tier : slow) any = tier->AnswerOne() || any;
    return any;
  }
  CacheLookup Get(std::uint64_t inode, JobId job = kJob) {
    return AskStore(*store, job, Key(inode), [this] { AnswerOne(); });
  }
  [[nodiscard]] std::uint64_t entries(std::size_t tier) const {
    return tiers[tier]->Stats().entries;
  }
};

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

// A random sequence of calls, and a dictionary that says what may be found.
class RandomCalls {
 public:
  RandomCalls(Stack& stack, unsigned seed, bool exact)
      : stack_(stack), random_(seed), exact_(exact) {
    for (const JobId job : {kJob, kOther}) {
      stack_.store->AddJob(job, kNoQuota);
      quotas_[job] = DivideQuota(kNoQuota, stack_.budgets);
    }
  }

  void Step() {
    Before();
    switch (random_() % (exact_ ? 4 : 12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        GetOrMake();
        break;
      case 4:
        OpenLookup();
        break;
      case 5:
        stack_.AnswerOne();
        break;
      case 6:
        Pin();
        break;
      case 7:
        if (!pins_.empty()) pins_.erase(pins_.begin() + static_cast<int>(random_() % pins_.size()));
        break;
      case 8:
        SetQuota();
        break;
      case 9:
        Freeze();
        break;
      case 10:
        ComeAndGo();
        break;
      case 11:
        Fail();
        break;
    }
    Check();
  }
  void Finish() {
    while (open_ > 0) {
      pins_.clear();
      ASSERT_TRUE(stack_.AnswerOne());
    }
    EXPECT_GT(hits_, 100);
  }

 private:
  struct Sample {
    std::uint64_t inode = 0;
    std::int64_t version = 0;
    friend auto operator<=>(const Sample&, const Sample&) = default;
  };
  static std::size_t SizeOf(std::uint64_t inode) { return inode % 7 * 1000; }

  Sample RandomSample() {
    const std::uint64_t inode = random_() % 120;
    if (random_() % 100 == 0) ++versions_[inode];
    return {inode, versions_[inode]};
  }
  JobId RandomJob() { return random_() % 2 == 0 ? kJob : kOther; }

  void CheckFound(const Sample& sample, const CachePin& pin) {
    if (pin) {
      ++hits_;
      // A lookup may miss an entry that another one moves up meanwhile, so a miss proves nothing.
      ASSERT_TRUE((exact_ ? stored_ : ever_).contains(sample)) << "never stored";
      ASSERT_TRUE(Equal(pin.bytes(), Payload(sample.inode, sample.version, SizeOf(sample.inode))));
      ASSERT_EQ(pin.bytes().size(), SizeOf(sample.inode));
    } else if (exact_) {
      ASSERT_FALSE(stored_.contains(sample)) << sample.inode << " is lost";
    }
  }
  void GetOrMake() {
    const Sample sample = RandomSample();
    const JobId job = RandomJob();
    const CacheKey key = Key(sample.inode, sample.version);
    if (pins_.size() + static_cast<std::size_t>(open_) >= SampleStore::kMostFetches) pins_.clear();
    CachePin pin = AskStore(*stack_.store, job, key, [this] {
                     if (!stack_.AnswerOne()) pins_.clear();
                   }).pin;
    CheckFound(sample, pin);
    if (pin) return;
    std::erase_if(stored_, [&](const Sample& each) { return each.inode == sample.inode; });
    auto claim = stack_.store->TryClaim(job, key, SizeOf(sample.inode));
    if (!claim || random_() % 10 == 0) return;
    if (claim.Commit(Payload(sample.inode, sample.version, SizeOf(sample.inode)))) {
      stored_.insert(sample);
      ever_.insert(sample);
    }
  }
  void OpenLookup() {
    const Sample sample = RandomSample();
    const JobId job = RandomJob();
    const CacheKey key = Key(sample.inode, sample.version);
    const CacheLookup found = stack_.store->Find(job, key);
    if (!found.later) return;
    ++open_;
    stack_.store->FindLater(job, key, found,
                            [this, sample, times = 0](const CacheLookup& answer) mutable {
                              EXPECT_EQ(++times, 1);
                              --open_;
                              if (answer.pin) {
                                EXPECT_TRUE(ever_.contains(sample));
                                pins_.push_back({sample, answer.pin});
                              }
                            });
  }
  void Pin() {
    const Sample sample = RandomSample();
    CacheLookup found = stack_.store->Find(kJob, Key(sample.inode, sample.version));
    if (found.pin) pins_.push_back({sample, std::move(found.pin)});
  }
  void SetQuota() {
    const JobId job = RandomJob();
    StoreQuota quota;
    if (random_() % 3 == 0) {
      stack_.store->SetQuota(job, std::nullopt);
      quotas_[job] = DivideQuota(kNoQuota, stack_.budgets);
      return;
    }
    if (random_() % 2 == 0) {
      quota.bytes = random_() % 900'000;
      quotas_[job] = DivideQuota(quota.bytes, stack_.budgets);
    } else {
      for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
        quotas_[job][i] = random_() % 400'000;
        quota.tiers.emplace_back("tier" + std::to_string(i), quotas_[job][i]);
      }
    }
    stack_.store->SetQuota(job, quota);
    if (!pins_.empty()) return;
    for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
      EXPECT_LE(StatsOf(*stack_.tiers[i], job).bytes, quotas_[job][i]) << "tier " << i;
    }
  }
  void Freeze() {
    const JobId job = RandomJob();
    stack_.store->FreezeQuota(job);
    for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
      quotas_[job][i] = StatsOf(*stack_.tiers[i], job).bytes;
    }
  }
  void ComeAndGo() {
    const JobId job = RandomJob();
    stack_.store->RemoveJob(job);
    if (random_() % 2 == 0) GetOrMake();
    stack_.store->AddJob(job, kNoQuota);
  }
  void Fail() {
    if (stack_.slow.empty()) return;
    FakeSlowTier& tier = *stack_.slow[random_() % stack_.slow.size()];
    tier.SetFaults({.full = random_() % 2 == 0 ? 0.3 : 0, .corrupt = random_() % 2 == 0 ? 0.2 : 0});
    if (hits_ > 200 && random_() % 50 == 0) tier.TakeAway();
  }

  void Before() {
    for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
      for (const JobId job : {kJob, kOther}) {
        before_[{i, job}] = StatsOf(*stack_.tiers[i], job).bytes;
      }
    }
  }
  void Check() {
    std::uint64_t entries = 0;
    for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
      const CacheStats stats = stack_.tiers[i]->Stats();
      ASSERT_LE(stats.bytes, stack_.budgets[i]) << "tier " << i;
      entries += stats.entries;
      for (const JobId job : {kJob, kOther}) {
        // A pin or a claim may keep what was there; nothing is added beyond the quota.
        ASSERT_LE(StatsOf(*stack_.tiers[i], job).bytes,
                  std::max(quotas_[job][i], before_[{i, job}]))
            << "tier " << i;
      }
    }
    ASSERT_TRUE(!exact_ || entries == stored_.size()) << "an entry is in one tier";
    for (const auto& [sample, pin] : pins_) {
      ASSERT_TRUE(Equal(pin.bytes(), Payload(sample.inode, sample.version, SizeOf(sample.inode))));
    }
  }

  Stack& stack_;
  std::mt19937 random_;
  const bool exact_;
  std::map<std::uint64_t, std::int64_t> versions_;
  std::set<Sample> stored_;  // and not replaced since
  std::set<Sample> ever_;
  std::vector<std::pair<Sample, CachePin>> pins_;
  std::map<JobId, std::vector<std::uint64_t>> quotas_;
  std::map<std::pair<std::size_t, JobId>, std::uint64_t> before_;
  int open_ = 0;
  int hits_ = 0;
};

class RandomStore : public testing::TestWithParam<std::tuple<int, bool, bool>> {};

TEST_P(RandomStore, EqualsTheModelAndKeepsBudgetsQuotasAndPins) {
  const auto [tiers, memory, exact] = GetParam();
  for (unsigned round = 0; round < 3; ++round) {
    const unsigned seed = Seed() + round;
    SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
    std::mt19937 random(seed);
    std::vector<std::uint64_t> budgets;
    for (int i = 0; i < tiers; ++i) budgets.push_back(50'000 + random() % 200'000);
    Stack stack(memory, budgets, seed);
    RandomCalls calls(stack, seed, exact);
    for (int step = 0; step < 5000 && !HasFatalFailure(); ++step) calls.Step();
    if (!HasFatalFailure()) calls.Finish();
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, RandomStore,
                         testing::Combine(testing::Values(1, 2, 3), testing::Bool(),
                                          testing::Bool()),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) +
                                  (std::get<1>(each.param) ? "FirstInMemory" : "AllSlow") +
                                  (std::get<2>(each.param) ? "Exact" : "WithFaults");
                         });

}  // namespace
}  // namespace headrace::dataworker
