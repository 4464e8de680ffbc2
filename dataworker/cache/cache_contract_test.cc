// What every cache tier of the registry must hold.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/cache_registry.h"
#include "dataworker/cache/fake_slow_tier.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

// A tier of the registry, or the fake one, so that the contract is also held by one that is slow.
const char kFake[] = "fake_slow";

class CacheContract : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<CacheTier> Make(std::uint64_t budget) {
    if (GetParam() == kFake) return std::make_unique<FakeSlowTier>(budget, 1);
    auto made = BuiltinCacheTiers().Make({GetParam(), {{"size", std::to_string(budget)}}});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  // A tier of the registry has threads of its own for what takes time.
  static Pump PumpOf(CacheTier& tier) {
    auto* const fake = dynamic_cast<FakeSlowTier*>(&tier);
    if (fake == nullptr) return [] { std::this_thread::yield(); };
    return [fake] { fake->AnswerOne(); };
  }
  static CachePin Get(CacheTier& tier, JobId job, const CacheKey& key) {
    return Ask(tier, job, key, PumpOf(tier));
  }
  static int Held(CacheTier& tier, JobId job, std::uint64_t count, std::uint64_t first = 0) {
    return Kept(tier, job, count, first, PumpOf(tier));
  }
};

TEST_P(CacheContract, RandomSequencesEqualTheModelAndKeepTheBudget) {
  const unsigned seed =
      ::testing::UnitTest::GetInstance()->random_seed() != 0
          ? static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed())
          : 20260101U;
  SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
  std::mt19937 random(seed);
  for (const std::uint64_t budget :
       {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{200'000}, std::uint64_t{8} << 20}) {
    auto cache = Make(budget);
    cache->AddJob(kJob, kNoQuota);
    std::map<std::uint64_t, std::pair<std::int64_t, Bytes>> model;  // inode -> version, content
    for (int step = 0; step < 10'000; ++step) {
      if (step % 4 == 0) KeepReplica(*cache, kJob, 1'000'000 + random() % 500, random() % 20'000);
      const std::uint64_t inode = random() % 200;
      const std::int64_t version = static_cast<std::int64_t>(random() % 40 == 0 ? random() % 3 : 0);
      const CachePin pin = Get(*cache, kJob, Key(inode, version));
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
      ASSERT_FALSE(Get(*cache, kJob, Key(inode, version)));
      if (random() % 10 == 0) continue;  // the sample failed: the claim goes back
      Bytes content = Payload(inode, version, size);
      if (claim.Commit(content)) model[inode] = {version, std::move(content)};
      const CacheStats stats = cache->Stats();
      ASSERT_LE(stats.bytes + stats.replicas.bytes, budget);
      ASSERT_EQ(stats.entries, model.size());
      std::uint64_t payload_bytes = 0;
      for (const auto& [_, entry] : model) payload_bytes += entry.second.size();
      ASSERT_GE(stats.bytes, payload_bytes);
    }
  }
}

TEST_P(CacheContract, AdmitsUntilFullAndNeverEvictsForTheSameJob) {
  auto cache = Make(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  std::vector<std::uint64_t> admitted;
  for (std::uint64_t inode = 0; inode < 100; ++inode) {
    if (Put(*cache, kJob, inode, 30'000)) admitted.push_back(inode);
  }
  EXPECT_GT(admitted.size(), 20U);
  EXPECT_LT(admitted.size(), 35U);
  for (const std::uint64_t inode : admitted) EXPECT_TRUE(Get(*cache, kJob, Key(inode)));
}

TEST_P(CacheContract, AChangedFileIsAMissAndItsOldEntryGoes) {
  auto cache = Make(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  ASSERT_TRUE(Put(*cache, kJob, 5, 1000, /*version=*/1));
  EXPECT_FALSE(Get(*cache, kJob, Key(5, 2)));
  EXPECT_EQ(cache->Stats().entries, 0U);
  EXPECT_EQ(cache->Stats().bytes, 0U);
  ASSERT_TRUE(Put(*cache, kJob, 5, 1000, /*version=*/2));
  EXPECT_TRUE(Equal(Get(*cache, kJob, Key(5, 2)).bytes(), Payload(5, 2, 1000)));
}

TEST_P(CacheContract, EncodedAndDecodedFormsOfOneFileAreTwoEntries) {
  auto cache = Make(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  ASSERT_TRUE(cache->TryClaim(kJob, Key(5, 0, 0), 3).Commit(Payload(1, 0, 3)));
  EXPECT_FALSE(Get(*cache, kJob, Key(5, 0, 9)));
  EXPECT_TRUE(Get(*cache, kJob, Key(5, 0, 0)));
}

TEST_P(CacheContract, JobsShareEntriesAndEachKeepsItsQuota) {
  auto cache = Make(4 << 20);
  cache->AddJob(kJob, 200'000);
  cache->AddJob(kOther, 0);
  int stored = 0;
  for (std::uint64_t inode = 0; inode < 50; ++inode) stored += Put(*cache, kJob, inode, 30'000);
  EXPECT_GE(stored, 4);
  EXPECT_LE(stored, 6);
  EXPECT_LE(cache->Stats().bytes, 200'000U);
  EXPECT_FALSE(Put(*cache, kOther, 1000, 100));
  EXPECT_TRUE(Get(*cache, kOther, Key(0)));
}

TEST_P(CacheContract, AQuotaIsTheJobsWhenItComesBack) {
  auto cache = Make(8 << 20);
  for (int times = 0; times < 3; ++times) {
    cache->AddJob(kJob, 1 << 20);
    for (std::uint64_t inode = 0; inode < 200; ++inode) {
      Put(*cache, kJob, inode + static_cast<std::uint64_t>(times) * 1000, 30'000);
    }
    EXPECT_LE(cache->Stats().bytes, std::uint64_t{1} << 20);
    cache->RemoveJob(kJob);
  }
}

TEST_P(CacheContract, WhatIsInUseIsNotTakenAndGoesLater) {
  auto cache = Make(8 << 20);
  cache->AddJob(kJob, kNoQuota);
  for (std::uint64_t inode = 0; inode < 100; ++inode) Put(*cache, kJob, inode, 30'000);
  CachePin pin = Get(*cache, kJob, Key(40));
  auto claim = cache->TryClaim(kJob, Key(2000), 30'000);
  ASSERT_TRUE(pin && claim);
  cache->SetQuota(kJob, 0);
  EXPECT_GT(StatsOf(*cache, kJob).entries, 0U);
  EXPECT_TRUE(Get(*cache, kJob, Key(40)));
  EXPECT_TRUE(Equal(pin.bytes(), Payload(40, 0, 30'000)));
  EXPECT_FALSE(claim.Commit(Payload(2000, 0, 30'000)));
  pin = CachePin();
  cache->SetQuota(kJob, 0);
  EXPECT_EQ(StatsOf(*cache, kJob).entries, 0U);
  EXPECT_EQ(cache->Stats().bytes, 0U);
}

TEST_P(CacheContract, EachJobIsToldItsEntriesHitsAndMisses) {
  auto cache = Make(64 << 20);
  cache->AddJob(kJob, kNoQuota);
  cache->AddJob(kOther, kNoQuota);
  for (std::uint64_t inode = 0; inode < 10; ++inode) Put(*cache, kJob, inode, 30'000);
  EXPECT_EQ(Held(*cache, kJob, 15), 10);
  EXPECT_EQ(Held(*cache, kOther, 4), 4);
  const JobCacheStats first = StatsOf(*cache, kJob), second = StatsOf(*cache, kOther);
  EXPECT_EQ(first.entries, 10U);
  EXPECT_EQ(first.bytes, cache->Stats().bytes);
  EXPECT_NEAR(static_cast<double>(first.entry_bytes), 305e3, 5e3);  // no room for more
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

TEST_P(CacheContract, AJobThatHasGoneGivesWayExceptWhatAnotherJobUses) {
  auto cache = Make(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  for (std::uint64_t inode = 0; inode < 100; ++inode) Put(*cache, kJob, inode, 30'000);
  cache->RemoveJob(kJob);
  EXPECT_TRUE(Get(*cache, kJob, Key(0)));
  cache->AddJob(kOther, kNoQuota);
  EXPECT_TRUE(Get(*cache, kOther, Key(3)));
  int stored = 0;
  for (std::uint64_t inode = 1000; inode < 1100; ++inode) {
    stored += Put(*cache, kOther, inode, 30'000);
    ASSERT_LE(cache->Stats().bytes, std::uint64_t{1} << 20);
  }
  EXPECT_GT(stored, 20);
  EXPECT_TRUE(Get(*cache, kOther, Key(3)));
  EXPECT_FALSE(Get(*cache, kOther, Key(40)) && Get(*cache, kOther, Key(0)));
}

TEST_P(CacheContract, WhatIsKeptStaysAfterItsJobUntilItIsKeptNoMore) {
  auto cache = Make(1 << 20);
  cache->SetKept({kJob});
  cache->AddJob(kJob, 400'000);
  int kept = 0;
  for (std::uint64_t inode = 0; inode < 30; ++inode) kept += Put(*cache, kJob, inode, 30'000);
  cache->RemoveJob(kJob);
  cache->AddJob(kOther, kNoQuota);
  for (std::uint64_t inode = 1000; inode < 1100; ++inode) Put(*cache, kOther, inode, 30'000);
  EXPECT_EQ(Held(*cache, kOther, 30), kept);  // the last user is another one now
  cache->RemoveJob(kOther);
  const JobId third(3);
  cache->AddJob(third, kNoQuota);
  for (std::uint64_t inode = 2000; inode < 2100; ++inode) Put(*cache, third, inode, 30'000);
  EXPECT_EQ(StatsOf(*cache, kJob).entries, static_cast<std::uint64_t>(kept));
  EXPECT_EQ(StatsOf(*cache, kOther).entries, 0U);
  cache->SetKept({});
  for (std::uint64_t inode = 3000; inode < 3100; ++inode) Put(*cache, third, inode, 30'000);
  EXPECT_EQ(StatsOf(*cache, kJob).entries, 0U);
}

TEST_P(CacheContract, ADropTakesAllOfTheseJobsAtOnceAndNothingElse) {
  auto cache = Make(8 << 20);
  int offered = 0;
  cache->SetOnGivenUp([&](JobId, const CacheKey&, const CachePin&, Duration) { ++offered; });
  const JobId third(3);
  for (const JobId job : {kJob, kOther, third}) {
    cache->AddJob(job, kNoQuota);
    const auto first = static_cast<std::uint64_t>(job.value) * 100;
    for (std::uint64_t i = 0; i < 20; ++i) Put(*cache, job, first + i, 30'000);
  }
  cache->RemoveJob(kOther);
  const CachePin pin = Get(*cache, kJob, Key(105));
  auto claim = cache->TryClaim(kJob, Key(500), 30'000);
  ASSERT_TRUE(pin && claim);
  cache->Doom({kJob, kOther});
  EXPECT_TRUE(cache->SweepDoomed());
  for (const JobId job : {kJob, kOther}) EXPECT_EQ(StatsOf(*cache, job).entries, 0U);
  EXPECT_EQ(Held(*cache, third, 20, 300), 20);
  EXPECT_TRUE(Equal(pin.bytes(), Payload(105, 0, 30'000)));
  EXPECT_EQ(offered, 0);  // it would come back from the next tier
  // What comes later stays.
  EXPECT_TRUE(claim.Commit(Payload(500, 0, 30'000)));
  EXPECT_TRUE(Put(*cache, kJob, 501, 30'000));
  EXPECT_TRUE(cache->SweepDoomed());
  EXPECT_EQ(StatsOf(*cache, kJob).entries, 2U);
}

TEST_P(CacheContract, APinOutlivesItsEntry) {
  auto cache = Make(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  ASSERT_TRUE(Put(*cache, kJob, 5, 1000, 1));
  const CachePin pin = Get(*cache, kJob, Key(5, 1));
  EXPECT_FALSE(Get(*cache, kJob, Key(5, 2)));
  EXPECT_GT(cache->Stats().bytes, 0U);  // its memory is still there, and counted
  cache.reset();
  EXPECT_TRUE(Equal(pin.bytes(), Payload(5, 1, 1000)));
}

TEST_P(CacheContract, ThreadsShareOneCopyOfEachSample) {
  constexpr std::uint64_t kBudget = 2 << 20;
  auto cache = Make(kBudget);
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
          if (const CachePin pin = Get(*cache, kJob, Key(inode, version))) {
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

TEST_P(CacheContract, ARefusalSaysWhetherTheEntryIsThere) {
  auto cache = Make(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  const auto why = [&](std::uint64_t inode, std::size_t bytes) {
    const auto claim = cache->TryClaim(kJob, Key(inode), bytes);
    EXPECT_FALSE(claim);
    return claim.why();
  };
  EXPECT_EQ(why(1, std::size_t{2} << 20), CacheTier::Refusal::kNoRoom);
  {
    const auto claim = cache->TryClaim(kJob, Key(1), 1000);
    ASSERT_TRUE(claim);
    EXPECT_EQ(why(1, 1000), CacheTier::Refusal::kTaken);
  }
  ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
  EXPECT_EQ(why(1, 1000), CacheTier::Refusal::kTaken);
}

TEST_P(CacheContract, WhatIsForgottenIsAMissAndItsPinsStay) {
  auto cache = Make(1 << 20);
  cache->AddJob(kJob, kNoQuota);
  ASSERT_TRUE(Put(*cache, kJob, 5, 1000, 1));
  cache->Forget(Key(5, 2));  // other content
  CachePin pin = Get(*cache, kJob, Key(5, 1));
  ASSERT_TRUE(pin);
  cache->Forget(Key(5, 1));
  cache->Forget(Key(5, 1));
  EXPECT_FALSE(Get(*cache, kJob, Key(5, 1)));
  EXPECT_TRUE(Equal(pin.bytes(), Payload(5, 1, 1000)));
  EXPECT_EQ(cache->Stats().entries, 0U);
  pin = CachePin();
  EXPECT_EQ(cache->Stats().bytes, 0U);
  const auto claim = cache->TryClaim(kJob, Key(6), 1000);
  cache->Forget(Key(6));  // being made: it stays claimed
  EXPECT_EQ(cache->TryClaim(kJob, Key(6), 1000).why(), CacheTier::Refusal::kTaken);
}

TEST_P(CacheContract, WhatAQuotaTakesIsOfferedWithItsOwnerAndBytes) {
  auto cache = Make(8 << 20);
  std::map<std::uint64_t, JobId> offered;
  std::vector<CachePin> kept;
  cache->SetOnGivenUp([&](JobId owner, const CacheKey& key, const CachePin& pin, Duration) {
    const std::uint64_t inode = key.content.place[1];
    EXPECT_EQ(key.form, Key(inode).form);
    EXPECT_TRUE(Equal(pin.bytes(), Payload(inode, 0, 30'000)));
    EXPECT_TRUE(offered.emplace(inode, owner).second);
    EXPECT_FALSE(Get(*cache, kOther, key));
    kept.push_back(pin);
  });
  cache->AddJob(kJob, kNoQuota);
  cache->AddJob(kOther, kNoQuota);
  for (std::uint64_t inode = 0; inode < 40; ++inode) {
    ASSERT_TRUE(Put(*cache, inode % 2 == 0 ? kJob : kOther, inode, 30'000));
  }
  cache->SetQuota(kJob, 0);
  EXPECT_EQ(offered.size(), 20U);
  for (const auto& [inode, owner] : offered) {
    EXPECT_EQ(inode % 2, 0U);
    EXPECT_EQ(owner, kJob);
  }
  EXPECT_EQ(Held(*cache, kOther, 1, 1), 1);
}

TEST_P(CacheContract, StopAnswersEveryOpenFetchOnce) {
  auto cache = Make(8 << 20);
  cache->AddJob(kJob, kNoQuota);
  for (std::uint64_t inode = 0; inode < 10; ++inode) Put(*cache, kJob, inode, 3000);
  std::vector<int> answers(10);
  int open = 0;
  for (std::uint64_t inode = 0; inode < 10; ++inode) {
    if (!cache->Find(kJob, Key(inode)).later) continue;
    ++open;
    cache->Fetch(kJob, Key(inode), [&, inode](const CachePin& pin) {
      EXPECT_TRUE(!pin || Equal(pin.bytes(), Payload(inode, 0, 3000)));
      ++answers[inode];
    });
  }
  cache->Stop();
  cache->Stop();
  EXPECT_EQ(std::count(answers.begin(), answers.end(), 1), open);
  if (cache->Find(kJob, Key(0)).later) {
    const int before = answers[0];
    cache->Fetch(kJob, Key(0), [&](const CachePin&) { ++answers[0]; });
    EXPECT_EQ(answers[0], before + 1);
  }
}

TEST_P(CacheContract, HasASummaryAndRefusesSettingsThatItDoesNotHave) {
  if (GetParam() == kFake) return;
  const auto refused = BuiltinCacheTiers().Make({GetParam(), {{"no-such-setting", "1"}}});
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  for (const auto* tier : BuiltinCacheTiers().All()) EXPECT_FALSE(tier->summary.empty());
}

std::vector<std::string> Names() {
  std::vector<std::string> names{kFake};
  for (const CacheTierDescriptor* tier : BuiltinCacheTiers().All()) names.push_back(tier->name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, CacheContract, testing::ValuesIn(Names()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace headrace::dataworker
