// What entries leave that go one by one, as those do that move to another worker: their room is others'.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/memory/memory_cache.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kHoleyRoom = std::uint64_t{8} << 20;
constexpr std::size_t kHolePicture = 30'000;

// Pictures are not equal in size: within a tenth.
std::size_t HolePictureBytes(std::uint64_t inode) {
  return kHolePicture - 3000 + (inode * 7919) % 6000;
}

class ChunkHolesTest : public testing::Test {
 protected:
  ChunkHolesTest() { cache_->AddJob(kJob, kNoQuota); }
  std::uint64_t Fill(std::uint64_t first, std::uint64_t count) {
    std::uint64_t stored = 0;
    for (std::uint64_t inode = first; inode < first + count; ++inode) {
      stored += Put(*cache_, kJob, inode, HolePictureBytes(inode)) ? 1 : 0;
    }
    return stored;
  }
  const std::unique_ptr<CacheTier> cache_ = MakeMemoryCache(kHoleyRoom);
};

TEST_F(ChunkHolesTest, WhatLeavesMakesRoomForAsMany) {
  const std::uint64_t kept = Fill(0, 1000);
  const std::uint64_t bytes = cache_->Stats().bytes;
  std::uint64_t gone = 0;
  for (std::uint64_t inode = 0; inode < 1000; inode += 5, ++gone) cache_->Forget(Key(inode));
  gone = kept - cache_->Stats().entries;
  ASSERT_GT(gone, 40U);
  EXPECT_GE(Fill(10'000, 1000), gone * 9 / 10);
  EXPECT_EQ(Kept(*cache_, kJob, 1000) + Kept(*cache_, kJob, 1000, 10'000),
            static_cast<int>(cache_->Stats().entries));
  EXPECT_LE(cache_->Stats().bytes, bytes);
}

TEST_F(ChunkHolesTest, WhatIsReadStaysUntilItsReaderHasGone) {
  ASSERT_GT(Fill(0, 1000), 100U);
  std::vector<CachePin> pins;
  for (std::uint64_t inode = 0; inode < 100; ++inode) {
    pins.push_back(cache_->Find(kJob, Key(inode)).pin);
    if (inode % 3 == 0) cache_->Forget(Key(inode));
  }
  Fill(10'000, 1000);
  for (std::uint64_t inode = 0; inode < 100; ++inode) {
    ASSERT_TRUE(Equal(pins[inode].bytes(), Payload(inode, 0, HolePictureBytes(inode)))) << inode;
  }
  pins.clear();
  EXPECT_GT(Fill(20'000, 1000), 25U);
}

TEST_F(ChunkHolesTest, ASmallerQuotaTakesTheEmptiestChunks) {
  const std::uint64_t kept = Fill(0, 1000);
  // The younger half of them leaves, but for one of ten.
  for (std::uint64_t inode = kept / 2; inode < kept; ++inode) {
    if (inode % 10 != 0) cache_->Forget(Key(inode));
  }
  cache_->SetQuota(kJob, kHoleyRoom * 55 / 100);
  EXPECT_LE(cache_->Stats().bytes, kHoleyRoom * 55 / 100);
  EXPECT_EQ(Kept(*cache_, kJob, kept / 2 - 10), static_cast<int>(kept / 2 - 10));
}

// A worker of a large cluster has room for some dozens of a job's samples.
TEST(ChunkRoomUseTest, FewEntriesFillASmallCache) {
  for (const double entries : {7.5, 20.0, 40.0, 75.0, 200.0}) {
    const double room = entries * (kHolePicture + 64 + 224);
    const auto cache = MakeMemoryCache(static_cast<std::uint64_t>(room));
    cache->AddJob(kJob, kNoQuota);
    for (std::uint64_t inode = 0; inode < 1000; ++inode)
      Put(*cache, kJob, inode, HolePictureBytes(inode));
    const double kept = static_cast<double>(cache->Stats().entries);
    EXPECT_GE(kept, entries * 0.97 - 1) << entries;
    EXPECT_LE(cache->Stats().bytes, room);
    EXPECT_EQ(Kept(*cache, kJob, 1000), static_cast<int>(kept));
  }
}

// For the thread sanitizer too: what a reader has read is written over when it is done.
TEST_F(ChunkHolesTest, ReadersAndWritersNeverMeet) {
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      while (!done) {
        const std::uint64_t inode = random() % 400;
        if (const CachePin pin = cache_->Find(kJob, Key(inode)).pin) {
          ASSERT_TRUE(Equal(pin.bytes(), Payload(inode, 0, HolePictureBytes(inode))));
        }
      }
    });
  }
  std::mt19937 random(9);
  for (int step = 0; step < 4000; ++step) {
    const std::uint64_t inode = random() % 400;
    cache_->Forget(Key(inode));
    const std::uint64_t other = random() % 400;
    Put(*cache_, kJob, other, HolePictureBytes(other));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace headrace::dataworker
