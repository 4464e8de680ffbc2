#include "dataworker/cache/disk/disk_cache.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <random>
#include <vector>

#include "dataworker/cache/disk/disk_fixture.h"

namespace headrace::dataworker {
namespace {

using namespace std::chrono_literals;

class DiskCacheTest : public DiskFixture {
 protected:
  [[nodiscard]] std::vector<std::filesystem::path> Files(const std::string& end) const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().string().ends_with(end)) files.push_back(entry.path());
    }
    return files;
  }
};

TEST_F(DiskCacheTest, TheNextProcessFindsWhatThisOneHasLeft) {
  {
    const auto cache = Open();
    for (std::uint64_t inode = 0; inode < 100; ++inode) {
      ASSERT_TRUE(Put(*cache, kJob, inode, 30'000));
    }
    EXPECT_FALSE(Has(*cache, 7, 1));  // the file has changed
    ASSERT_TRUE(Put(*cache, kJob, 7, 20'000, 1));
  }
  const auto cache = Open();
  EXPECT_EQ(cache->Stats().entries, 100U);
  EXPECT_TRUE(cache->JobStats().empty() || StatsOf(*cache, kJob).bytes == 0);  // they are nobody's
  for (std::uint64_t inode = 0; inode < 100; ++inode) {
    EXPECT_TRUE(Has(*cache, inode, inode == 7 ? 1 : 0)) << inode;
  }
}

TEST_F(DiskCacheTest, WhatIsLeftGivesWayToNewEntriesAndIsDeleted) {
  const DiskCacheOptions options{.budget = 4 << 20};
  {
    const auto cache = Open(options);
    for (std::uint64_t inode = 0; inode < 200; ++inode) Put(*cache, kJob, inode, 30'000);
  }
  const auto cache = Open(options);
  const std::uint64_t before = cache->Stats().entries;
  EXPECT_GT(before, 50U);
  int stored = 0;
  for (std::uint64_t inode = 1000; inode < 1200; ++inode) {
    stored += Put(*cache, kJob, inode, 30'000) ? 1 : 0;
    ASSERT_LE(cache->Stats().bytes, options.budget);
  }
  EXPECT_GT(stored, 50);
  std::uint64_t on_disk = 0;
  for (const auto& file : Files(".segment")) {
    std::error_code gone;  // the cache's own thread deletes segments meanwhile
    const std::uintmax_t size = std::filesystem::file_size(file, gone);
    if (!gone) on_disk += size;
  }
  EXPECT_LE(on_disk, options.budget);
}

TEST_F(DiskCacheTest, ASmallerBudgetKeepsTheNewest) {
  {
    const auto cache = Open({.budget = 8 << 20});
    for (std::uint64_t inode = 0; inode < 200; ++inode) Put(*cache, kJob, inode, 30'000);
  }
  const auto cache = Open({.budget = 2 << 20});
  EXPECT_LE(cache->Stats().bytes, std::uint64_t{2} << 20);
  EXPECT_TRUE(Has(*cache, 199));
  EXPECT_FALSE(Has(*cache, 0));
}

TEST_F(DiskCacheTest, AnotherBuildsEntriesAreDeleted) {
  {
    const auto cache = Open();
    ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
  }
  ASSERT_EQ(Files(".segment").size(), 1U);
  ASSERT_TRUE(SegmentFolder::Open(path_, kMaker + 1, disk_).ok());
  EXPECT_TRUE(Files(".segment").empty());
  EXPECT_TRUE(Files(".list").empty());
}

// Wherever a byte of the files is another one by now: what is found is what was stored.
TEST_F(DiskCacheTest, DamagedFilesLoseEntriesAndNeverGiveOtherBytes) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed() != 0
                            ? static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed())
                            : 20261128U;
  SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
  std::mt19937 random(seed);
  int found = 0, lost = 0;
  for (int round = 0; round < 60; ++round) {
    std::filesystem::remove_all(path_);
    {
      const auto cache = Open({.budget = 2 << 20});
      for (std::uint64_t inode = 0; inode < 40; ++inode) Put(*cache, kJob, inode, random() % 4000);
    }
    if (round % 3 == 0) {
      for (const auto& list : Files(".list")) std::filesystem::remove(list);
    }
    std::vector<std::filesystem::path> files = Files(".segment");
    for (auto& list : Files(".list")) files.push_back(std::move(list));
    ASSERT_FALSE(files.empty());
    const auto& file = files[random() % files.size()];
    const std::uint64_t size = std::filesystem::file_size(file);
    if (random() % 4 == 0) {
      std::filesystem::resize_file(file, random() % size);
    } else {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      for (unsigned n = 1 + random() % 20; n > 0; --n) {
        bytes.seekp(static_cast<std::streamoff>(random() % size));
        bytes.put(static_cast<char>(random()));
      }
    }
    const auto cache = Open({.budget = 2 << 20});
    for (std::uint64_t inode = 0; inode < 40; ++inode) ++(Has(*cache, inode) ? found : lost);
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(lost, 20);
}

TEST_F(DiskCacheTest, AFullDiskIsABypassUntilItHasRoomAgain) {
  const auto cache = Open({.budget = 64 << 20, .rest = 50ms});
  ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
  AwaitWrites(1);
  disk_.write_error = ENOSPC;
  ASSERT_TRUE(Put(*cache, kJob, 2, 1000));
  AwaitWrites(2);
  while (Has(*cache, 2)) std::this_thread::yield();  // it could not be kept
  EXPECT_FALSE(Put(*cache, kJob, 3, 1000));
  disk_.write_error = 0;
  while (!Put(*cache, kJob, 3, 1000)) std::this_thread::yield();  // until its rest ends
  EXPECT_TRUE(Has(*cache, 1));
  EXPECT_TRUE(Has(*cache, 3));
  EXPECT_EQ(cache->Stats().entries, 2U);
}

TEST_F(DiskCacheTest, ADiskWithoutRoomForAFileTakesNothing) {
  const auto cache = Open();
  disk_.reserve_error = ENOSPC;
  Put(*cache, kJob, 1, 1000);
  while (Has(*cache, 1)) std::this_thread::yield();  // until the thread that writes knows
  EXPECT_FALSE(cache->TryClaim(kJob, Key(2), 1000));
  EXPECT_TRUE(Files(".segment").empty());
  EXPECT_EQ(cache->Stats().bytes, 0U);
  EXPECT_EQ(cache->Stats().entries, 0U);
}

TEST_F(DiskCacheTest, AReadThatFailsIsAMiss) {
  const auto cache = Open({.budget = 64 << 20, .rest = 20ms});
  ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
  ASSERT_TRUE(Put(*cache, kJob, 2, 1000));
  AwaitWrites(2);
  while (cache->Find(kJob, Key(1)).pin) std::this_thread::yield();  // until the buffer is free
  disk_.read_error = EIO;
  EXPECT_FALSE(Get(*cache, 1));
  disk_.read_error = 0;
  while (!Has(*cache, 2)) std::this_thread::yield();  // until its rest ends
  EXPECT_FALSE(Get(*cache, 1));                       // it was forgotten
}

TEST_F(DiskCacheTest, AReadThatHangsIsAMissAndTheOthersGoOnWithoutTheDisk) {
  const auto cache = Open({.budget = 64 << 20, .patience = 20ms, .rest = 10s});
  ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
  AwaitWrites(1);
  while (cache->Find(kJob, Key(1)).pin) std::this_thread::yield();
  disk_.reads_hang = true;
  EXPECT_FALSE(Get(*cache, 1));
  EXPECT_FALSE(cache->Find(kJob, Key(1)).later);
  EXPECT_FALSE(cache->TryClaim(kJob, Key(2), 1000));
  disk_.reads_hang = false;
}

TEST_F(DiskCacheTest, WhatTheKernelHasInMemoryIsFoundAtOnceAndCheckedToo) {
  {
    const auto cache = Open();
    ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
    ASSERT_TRUE(Put(*cache, kJob, 2, 1000));
  }
  disk_.in_memory = true;
  const auto cache = Open();
  EXPECT_TRUE(Equal(cache->Find(kJob, Key(1)).pin.bytes(), Payload(1, 0, 1000)));
  std::fstream bytes(Files(".segment")[0], std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(static_cast<std::streamoff>(kRecordHeaderBytes + 500));
  bytes.put('?');
  bytes.flush();
  const CacheLookup damaged = cache->Find(kJob, Key(1));
  EXPECT_FALSE(damaged.pin);
  EXPECT_FALSE(damaged.later);
  EXPECT_TRUE(cache->Find(kJob, Key(2)).pin);
  EXPECT_EQ(cache->Stats().entries, 1U);
}

TEST_F(DiskCacheTest, ADiskThatWritesSlowlyTakesNoMoreThanTheBufferHas) {
  const auto cache = Open({.budget = 64 << 20, .most_buffered = 100'000});
  disk_.writes_hang = true;
  int stored = 0;
  for (std::uint64_t inode = 0; inode < 50; ++inode) {
    stored += Put(*cache, kJob, inode, 10'000) ? 1 : 0;
  }
  EXPECT_GE(stored, 9);
  EXPECT_LE(stored, 11);  // one is on its way to the disk
  EXPECT_EQ(Kept(*cache, kJob, 50), stored);
  disk_.writes_hang = false;
  AwaitWrites(stored);
  EXPECT_TRUE(Put(*cache, kJob, 100, 10'000));
}

TEST_F(DiskCacheTest, ADirectoryThatDisappearsCostsEntriesAlone) {
  const auto cache = Open();
  ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
  AwaitWrites(1);
  std::filesystem::remove_all(path_);
  EXPECT_TRUE(Has(*cache, 1));                 // the open file is still there
  Put(*cache, kJob, 2, std::size_t{3} << 20);  // wants a file of its own
  while (Has(*cache, 2)) std::this_thread::yield();
  EXPECT_FALSE(Put(*cache, kJob, 3, 1000));
}

TEST_F(DiskCacheTest, AnEntryWithoutBytesIsFoundBeforeAndAfterItIsWritten) {
  const auto cache = Open();
  disk_.writes_hang = true;
  ASSERT_TRUE(Put(*cache, kJob, 1, 0));
  EXPECT_TRUE(Has(*cache, 1));
  disk_.writes_hang = false;
  AwaitWrites(1);
  EXPECT_TRUE(Has(*cache, 1));
}

// The reactor calls a tier with each heartbeat. A disk that never answers must not hold it up.
TEST_F(DiskCacheTest, ADiskThatHangsHoldsNobodyUp) {
  const auto cache = Open();
  disk_.reserves_hang = true;
  ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
  EXPECT_TRUE(Has(*cache, 1));
  ASSERT_TRUE(Put(*cache, kJob, 2, std::size_t{3} << 20));  // wants a file of its own
  EXPECT_EQ(StatsOf(*cache, kJob).entries, 2U);
  cache->SetQuota(kJob, 0);
  EXPECT_EQ(StatsOf(*cache, kJob).entries, 0U);
  EXPECT_EQ(cache->Stats().bytes, 0U);
  disk_.reserves_hang = false;
}

TEST_F(DiskCacheTest, ItsIndexKeepsToTheWorkersMemory) {
  const auto cache = Open();
  for (std::uint64_t inode = 0; inode < 500; ++inode) ASSERT_TRUE(Put(*cache, kJob, inode, 10'000));
  AwaitWrites(500);
  EXPECT_GE(cache->KeepTo(kNoQuota), 500U * 100);
  EXPECT_EQ(cache->Stats().entries, 500U);
  const std::uint64_t most = 60'000;
  while (cache->KeepTo(most) > most) std::this_thread::yield();  // the last write may just be noted
  EXPECT_GT(cache->Stats().entries, 50U);
  EXPECT_LT(cache->Stats().entries, 300U);
  EXPECT_TRUE(Has(*cache, 499));  // the oldest go
}

TEST_F(DiskCacheTest, WithoutADirectoryNothingIsLeft) {
  auto folder = SegmentFolder::Open("", kMaker, disk_);
  ASSERT_TRUE(folder.ok());
  const auto cache = MakeDiskCache({.budget = 8 << 20}, std::move(folder).value());
  cache->AddJob(kJob, kNoQuota);
  ASSERT_TRUE(Put(*cache, kJob, 1, 1000));
  AwaitWrites(1);
  EXPECT_TRUE(Has(*cache, 1));
}

TEST_F(DiskCacheTest, WhatAnEntryTookToMakeOutlivesTheProcess) {
  constexpr Duration kCost = std::chrono::milliseconds(7);
  for (int process = 0; process < 3; ++process) {
    const auto cache = Open();
    if (process == 0) {
      auto claim = cache->TryClaim(kJob, Key(1), 1000);
      ASSERT_TRUE(claim && claim.Commit(Payload(1, 0, 1000), kCost));
      AwaitWrites(1);
    }
    EXPECT_EQ(Get(*cache, 1).cost(), kCost);
  }
}

}  // namespace
}  // namespace headrace::dataworker
