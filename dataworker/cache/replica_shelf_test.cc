// Copies of what other workers own: they take room that nobody wants, and go before anything else.
#include "dataworker/cache/replica_shelf.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/memory/memory_cache.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kShelfRoom = std::uint64_t{8} << 20;
constexpr std::size_t kShelfPicture = 30'000;
constexpr std::uint64_t kReplica = 1'000'000;  // inodes of entries that others own
constexpr WorkerId kGiver(7);

class ReplicaShelfTest : public testing::Test {
 protected:
  ReplicaShelfTest() {
    cache_->AddJob(kJob, kNoQuota);
    shelf().SetJobs({kJob});
  }
  [[nodiscard]] ReplicaShelf& shelf() const { return *cache_->replicas(); }
  bool Keep(std::uint64_t number, JobId job = kJob, std::size_t bytes = kShelfPicture) const {
    return shelf().Keep(job, Key(kReplica + number), Payload(kReplica + number, 0, bytes),
                        std::chrono::milliseconds(3), kGiver);
  }
  // How many of the first `count` are there.
  [[nodiscard]] int Replicas(std::uint64_t count, std::uint64_t first = 0) const {
    int there = 0;
    for (std::uint64_t number = first; number < first + count; ++number) {
      const CachePin pin = shelf().Find(kJob, Key(kReplica + number));
      if (!pin) continue;
      there += Equal(pin.bytes(), Payload(kReplica + number, 0, pin.bytes().size())) ? 1 : -1000;
    }
    return there;
  }
  std::uint64_t Fill(std::uint64_t first, std::uint64_t count, JobId job = kJob) {
    std::uint64_t stored = 0;
    for (std::uint64_t inode = first; inode < first + count; ++inode) {
      stored += Put(*cache_, job, inode, kShelfPicture) ? 1 : 0;
    }
    return stored;
  }
  void ExpectWithinBudget() const {
    const CacheStats stats = cache_->Stats();
    EXPECT_LE(stats.bytes + stats.replicas.bytes, kShelfRoom);
  }
  const std::unique_ptr<CacheTier> cache_ = MakeMemoryCache(kShelfRoom);
};

TEST_F(ReplicaShelfTest, AReplicaIsFoundWithItsCostAndCountedApart) {
  ASSERT_TRUE(Keep(1));
  EXPECT_FALSE(Keep(1)) << "it is there";
  const CachePin pin = shelf().Find(kJob, Key(kReplica + 1));
  ASSERT_TRUE(pin);
  EXPECT_TRUE(Equal(pin.bytes(), Payload(kReplica + 1, 0, kShelfPicture)));
  EXPECT_EQ(pin.cost(), std::chrono::milliseconds(3));
  EXPECT_FALSE(cache_->Find(kJob, Key(kReplica + 1)).pin) << "it is no entry";
  const CacheStats stats = cache_->Stats();
  EXPECT_EQ(stats.entries, 0U);
  EXPECT_EQ(stats.hits, 0U);
  EXPECT_EQ(stats.bytes, 0U);
  EXPECT_EQ(stats.replicas.entries, 1U);
  EXPECT_EQ(stats.replicas.hits, 1U);
  EXPECT_GE(stats.replicas.bytes, kShelfPicture);
  const JobCacheStats job = StatsOf(*cache_, kJob);
  EXPECT_EQ(job.replicas.entries, 1U);
  EXPECT_EQ(job.replicas.hits, 1U);
  EXPECT_EQ(job.replicas.bytes, stats.replicas.bytes);
  EXPECT_EQ(job.entries, 0U);
  EXPECT_TRUE(job.sample.names.empty()) << "it is in no sample of names";
}

TEST_F(ReplicaShelfTest, OtherContentOfTheFileMakesItGo) {
  ASSERT_TRUE(Keep(1));
  EXPECT_FALSE(shelf().Find(kJob, Key(kReplica + 1, /*version=*/2)));
  EXPECT_EQ(cache_->Stats().replicas.entries, 0U);
  EXPECT_TRUE(Keep(1));
}

TEST_F(ReplicaShelfTest, TheyTakeTheRoomThatIsThereAndNoMore) {
  const std::uint64_t entries = Fill(0, 100);
  std::uint64_t kept = 0;
  for (std::uint64_t number = 0; number < 1000; ++number) kept += Keep(number) ? 1 : 0;
  ExpectWithinBudget();
  EXPECT_GT(kept, 130U) << "of about 170 for which there is room";
  EXPECT_EQ(Replicas(1000), static_cast<int>(kept)) << "none goes for another one";
  EXPECT_EQ(Kept(*cache_, kJob, 100), static_cast<int>(entries));
}

TEST_F(ReplicaShelfTest, WhatWantsTheRoomHasIt) {
  std::uint64_t alone = 0;
  {
    const auto other = MakeMemoryCache(kShelfRoom);
    other->AddJob(kJob, kNoQuota);
    for (std::uint64_t inode = 0; inode < 1000; ++inode) {
      alone += Put(*other, kJob, inode, kShelfPicture) ? 1 : 0;
    }
  }
  for (std::uint64_t number = 0; number < 1000; ++number) Keep(number);
  ASSERT_GT(cache_->Stats().replicas.entries, 200U);
  EXPECT_EQ(Fill(0, 50), 50U);
  EXPECT_GT(Replicas(1000), 150) << "no more go than must";
  EXPECT_EQ(Replicas(20), 0) << "the oldest go first";
  EXPECT_EQ(50 + Fill(50, 950), alone);
  EXPECT_EQ(cache_->Stats().replicas.bytes, 0U);
}

// A replica that is read keeps its room for a moment. Nobody's entry may go in its place.
TEST_F(ReplicaShelfTest, AReplicaThatIsReadMakesNothingElseGo) {
  cache_->AddJob(kOther, kNoQuota);
  const std::uint64_t left = Fill(0, 100, kOther);
  cache_->RemoveJob(kOther);  // anybody's entry makes room from now on
  std::vector<CachePin> pins;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    if (Keep(number)) pins.push_back(shelf().Find(kJob, Key(kReplica + number)));
  }
  Fill(10'000, 20);
  EXPECT_EQ(Kept(*cache_, kJob, 100), static_cast<int>(left));
  ExpectWithinBudget();
  for (std::size_t number = 0; number < pins.size(); ++number) {
    ASSERT_TRUE(
        Equal(pins[number].bytes(), Payload(kReplica + number, 0, pins[number].bytes().size())));
  }
  pins.clear();
  EXPECT_EQ(Fill(20'000, 100), 100U);
  EXPECT_EQ(Kept(*cache_, kJob, 100), static_cast<int>(left));
}

TEST_F(ReplicaShelfTest, AJobHasThemWhileItMay) {
  shelf().SetJobs({kJob, kOther});
  ASSERT_TRUE(Keep(1));
  ASSERT_TRUE(Keep(2, kOther));
  shelf().SetJobs({kJob});
  EXPECT_TRUE(shelf().Find(kJob, Key(kReplica + 1)));
  EXPECT_FALSE(shelf().Find(kJob, Key(kReplica + 2)));
  EXPECT_FALSE(Keep(3, kOther));
  cache_->Doom({kJob});
  EXPECT_FALSE(shelf().Find(kJob, Key(kReplica + 1))) << "an order to drop";
  EXPECT_EQ(cache_->Stats().replicas.bytes, 0U);
}

TEST_F(ReplicaShelfTest, LessMemoryTakesThemFirst) {
  const std::uint64_t entries = Fill(0, 100);
  for (std::uint64_t number = 0; number < 1000; ++number) Keep(number);
  const std::uint64_t used = cache_->Stats().bytes;
  const std::uint64_t most = used + 500'000;
  EXPECT_LE(cache_->KeepTo(most), most);
  EXPECT_GT(Replicas(1000), 5);
  EXPECT_EQ(cache_->KeepTo(used), used);
  EXPECT_EQ(Replicas(1000), 0);
  EXPECT_EQ(Kept(*cache_, kJob, 100), static_cast<int>(entries));
  EXPECT_FALSE(Keep(1)) << "there is no room now";
}

TEST_F(ReplicaShelfTest, WhatHasAPlaceElsewhereIsForgotten) {
  ASSERT_TRUE(Keep(1));
  const CachePin pin = shelf().Peek(Key(kReplica + 1));
  shelf().Forget(Key(kReplica + 1, /*version=*/2));
  EXPECT_TRUE(shelf().Peek(Key(kReplica + 1))) << "that was other content";
  shelf().Forget(Key(kReplica + 1));
  EXPECT_TRUE(Equal(pin.bytes(), Payload(kReplica + 1, 0, kShelfPicture)));
  EXPECT_FALSE(shelf().Peek(Key(kReplica + 1)));
  EXPECT_EQ(cache_->Stats().replicas.hits, 0U);
}

TEST_F(ReplicaShelfTest, ItKnowsWhoHasTheEntry) {
  ASSERT_TRUE(Keep(1));
  const auto owned_by = [this](WorkerId owner) {
    return shelf().List([owner](const auto& each) { return each.owner == owner; });
  };
  ASSERT_EQ(owned_by(kGiver).size(), 1U);
  EXPECT_EQ(owned_by(kGiver)[0].job, kJob);
  EXPECT_EQ(owned_by(kGiver)[0].key.content, Key(kReplica + 1).content);
  shelf().SetOwner(Key(kReplica + 1), WorkerId(8));
  EXPECT_EQ(owned_by(kGiver).size(), 0U);
  EXPECT_EQ(owned_by(WorkerId(8)).size(), 1U);
}

// Its owner has gone: it may be the only copy.
TEST_F(ReplicaShelfTest, WhatALostOwnerGaveGoesAfterTheRest) {
  const WorkerId lost(8);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    const std::uint64_t inode = kReplica + number;
    shelf().Keep(kJob, Key(inode), Payload(inode, 0, kShelfPicture), {},
                 number % 4 == 0 ? lost : kGiver);
  }
  const auto left = [this, lost] {
    return shelf().List([lost](const auto& each) { return each.owner == lost; }).size();
  };
  const std::size_t orphans = left();
  ASSERT_GT(orphans, 40U);
  shelf().SetLast({lost});
  ASSERT_EQ(Fill(0, 150), 150U);
  EXPECT_EQ(left(), orphans);
  shelf().SetLast({});
  Fill(1000, 80);
  EXPECT_LT(left(), orphans);
}

// The promise itself: with replicas and without, the same calls keep the same entries, one by one.
TEST(ReplicasInNobodysWay, TheSameCallsKeepTheSameEntries) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto plain = MakeMemoryCache(kShelfRoom), with = MakeMemoryCache(kShelfRoom);
    const std::vector<CacheTier*> both = {plain.get(), with.get()};
    const std::vector<JobId> jobs = {kJob, kOther, JobId(3), JobId(4)};
    with->replicas()->SetJobs({kJob, kOther});
    std::vector<int> sessions(jobs.size(), 0);
    std::uint64_t most_replicas = 0, lost = 0;
    for (int step = 0; step < 3000; ++step) {
      const std::size_t j = random() % jobs.size();
      const std::uint64_t inode = random() % 600;
      const std::size_t bytes = 1000 + (inode * 7919) % 60'000;
      const std::uint64_t quota = random() % kShelfRoom;
      switch (random() % 24) {
        case 0:
          ++sessions[j];
          for (CacheTier* cache : both) cache->AddJob(jobs[j], quota);
          break;
        case 1:
          if (sessions[j] == 0) break;
          --sessions[j];
          for (CacheTier* cache : both) cache->RemoveJob(jobs[j]);
          break;
        case 2:
          for (CacheTier* cache : both) cache->SetQuota(jobs[j], quota);
          break;
        case 3:
          for (CacheTier* cache : both) cache->Forget(Key(inode));
          break;
        case 4:
          if (random() % 8 != 0) break;
          for (CacheTier* cache : both) cache->KeepTo(quota);
          for (CacheTier* cache : both) cache->KeepTo(kShelfRoom);
          break;
        case 5:
          for (CacheTier* cache : both) cache->ShareQuota(jobs[j], 1 + j % 2);
          break;
        case 6:
        case 7:
        case 8:
        case 9:
        case 10:
        case 11: {
          const CacheKey key = Key(kReplica + random() % 400);
          with->replicas()->Keep(random() % 2 == 0 ? kJob : kOther, key,
                                 Payload(key.content.place[1], 0, bytes), {}, kGiver);
          break;
        }
        case 12:
          (void)with->replicas()->Find(kJob, Key(kReplica + random() % 400));
          break;
        case 13:
          with->replicas()->Forget(Key(kReplica + random() % 400));
          break;
        default: {
          std::vector<bool> stored;
          for (CacheTier* cache : both) stored.push_back(Put(*cache, jobs[j], inode, bytes));
          ASSERT_EQ(stored[0], stored[1]) << "step " << step;
        }
      }
      const CacheStats a = plain->Stats(), b = with->Stats();
      ASSERT_EQ(a.entries, b.entries) << "step " << step;
      ASSERT_EQ(a.bytes, b.bytes) << "step " << step;
      ASSERT_LE(b.bytes + b.replicas.bytes, kShelfRoom) << "step " << step;
      if (b.replicas.entries < most_replicas) ++lost;
      most_replicas = std::max(most_replicas, b.replicas.entries);
    }
    for (std::uint64_t inode = 0; inode < 600; ++inode) {
      ASSERT_EQ(static_cast<bool>(plain->Find(kJob, Key(inode)).pin),
                static_cast<bool>(with->Find(kJob, Key(inode)).pin));
    }
    EXPECT_GT(most_replicas, 20U) << "there were none to be in the way";
    EXPECT_GT(lost, 0U) << "and none had to go";
  }
}

// For the sanitizers too: readers, copies and entries that want the room.
TEST_F(ReplicaShelfTest, ManyThreads) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      std::mt19937 random(t);
      for (int step = 0; step < 1500; ++step) {
        const std::uint64_t number = random() % 400;
        if (random() % 3 == 0) {
          Keep(number);
        } else if (const CachePin pin = shelf().Find(kJob, Key(kReplica + number))) {
          ASSERT_TRUE(Equal(pin.bytes(), Payload(kReplica + number, 0, kShelfPicture)));
        }
      }
    });
  }
  std::mt19937 random(9);
  for (int step = 0; step < 800; ++step) {
    const std::uint64_t inode = random() % 250;
    if (random() % 4 == 0) cache_->Forget(Key(inode));
    Put(*cache_, kJob, inode, kShelfPicture);
    if (step % 200 == 0) shelf().Drop({kJob});
  }
  for (std::thread& thread : threads) thread.join();
  ExpectWithinBudget();
}

}  // namespace
}  // namespace headrace::dataworker
