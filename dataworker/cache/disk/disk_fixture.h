#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/disk/disk_cache.h"
#include "dataworker/cache/disk/faulty_disk.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {

// For tests: a directory of its own, and disk caches there one after the other.
class DiskFixture : public testing::Test {
 protected:
  DiskFixture() {
    std::string pattern = testing::TempDir() + "disk_cache_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~DiskFixture() override { std::filesystem::remove_all(path_); }

  static constexpr std::uint64_t kMaker = 7;

  std::unique_ptr<CacheTier> Open(DiskCacheOptions options = {.budget = std::uint64_t{64} << 20}) {
    auto folder = SegmentFolder::Open(path_, kMaker, disk_);
    EXPECT_TRUE(folder.ok()) << folder.status().ToString();
    auto cache = MakeDiskCache(options, std::move(folder).value());
    cache->AddJob(kJob, kNoQuota);
    return cache;
  }
  static CachePin Get(CacheTier& cache, std::uint64_t inode, std::int64_t version = 0) {
    return Ask(cache, kJob, Key(inode, version), [] { std::this_thread::yield(); });
  }
  // Whether the entry is there; an entry with other bytes is a failure.
  static bool Has(CacheTier& cache, std::uint64_t inode, std::int64_t version = 0) {
    const CachePin pin = Get(cache, inode, version);
    if (!pin) return false;
    EXPECT_TRUE(Equal(pin.bytes(), Payload(inode, version, pin.bytes().size()))) << inode;
    return true;
  }
  // Waits until so many writes have ended.
  void AwaitWrites(int count) const {
    while (disk_.writes < count) std::this_thread::yield();
  }

  std::string path_;
  FaultyDisk disk_;
};

}  // namespace headrace::dataworker
