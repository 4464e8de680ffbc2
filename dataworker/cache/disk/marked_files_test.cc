// Entries with marks, which other processes read by themselves: they find them after a restart, and never other bytes.
#include "dataworker/cache/marked_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "dataworker/cache/disk/disk_fixture.h"

namespace headrace::dataworker {
namespace {

using namespace std::chrono_literals;

class MarkedFilesTest : public DiskFixture {
 protected:
  static std::size_t Take(CacheTier& cache, const std::vector<std::uint64_t>& inodes,
                          Duration cost = 1s, std::int64_t version = 0) {
    const SealedSamples sealed = Sealed(inodes, 30'000, cost, version);
    return cache.TakeOver(kJob, sealed.memory, sealed.entries).entries;
  }
  // What another process reads of an entry; nothing: it is not what it should be.
  static std::optional<Bytes> Read(const MarkedEntry& entry, int fd) {
    Bytes record(kRecordHeaderBytes + entry.bytes);
    const ssize_t got = ::pread(fd, record.data(), record.size(), static_cast<off_t>(entry.offset));
    if (got != static_cast<ssize_t>(record.size())) return std::nullopt;
    const auto header = DecodeRecordHeader(record);
    Bytes payload(record.begin() + kRecordHeaderBytes, record.end());
    if (!header.ok() || header->mark != entry.mark || header->bytes != entry.bytes ||
        header->key.content != entry.key.content || HashBytes(payload) != header->hash) {
      return std::nullopt;
    }
    return payload;
  }
  static std::vector<MarkedEntry> List(CacheTier& cache) {
    auto list = cache.files()->List(1000);
    std::ranges::sort(list, {}, [](const MarkedEntry& one) { return one.mark; });
    return list;
  }
  static void ExpectSamples(CacheTier& cache, const std::vector<std::uint64_t>& inodes) {
    const auto list = List(cache);
    ASSERT_EQ(list.size(), inodes.size());
    for (std::size_t i = 0; i < inodes.size(); ++i) {
      EXPECT_EQ(list[i].mark, MarkOf(inodes[i]));
      EXPECT_EQ(list[i].key.content, Key(inodes[i]).content);
      EXPECT_EQ(list[i].cost, 1s);
      const auto file = cache.files()->Open(kJob, list[i].file);
      ASSERT_TRUE(file.ok());
      const auto read = Read(list[i], file->descriptor.get());
      ASSERT_TRUE(read);
      EXPECT_TRUE(Equal(*read, Payload(inodes[i], 0, 30'000)));
    }
  }
};

TEST_F(MarkedFilesTest, AnotherProcessReadsWhatIsWrittenAndCanNotWriteThere) {
  const auto cache = Open();
  ASSERT_NE(cache->files(), nullptr);
  disk_.writes_hang = true;
  ASSERT_EQ(Take(*cache, {1, 2, 3}), 3U);
  EXPECT_TRUE(List(*cache).empty()) << "nothing is in a file yet";
  EXPECT_TRUE(cache->files()->Has(Key(2)));
  EXPECT_FALSE(cache->files()->Has(Key(2, 1)));
  const std::uint64_t before = cache->files()->version();
  disk_.writes_hang = false;
  while (List(*cache).size() < 3) std::this_thread::yield();
  EXPECT_GT(cache->files()->version(), before);
  ExpectSamples(*cache, {1, 2, 3});
  const auto file = cache->files()->Open(kJob, List(*cache)[0].file);
  EXPECT_LT(::pwrite(file->descriptor.get(), "x", 1, 0), 0);
  EXPECT_NE(::fcntl(file->descriptor.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(cache->files()->List(2).size(), 2U);
}

TEST_F(MarkedFilesTest, TheNextProcessListsThemAfterAnEndInOrderAndAfterAKill) {
  Take(*Open(), {1, 2, 3});
  ExpectSamples(*Open(), {1, 2, 3});
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    if (entry.path().string().ends_with(".list")) std::filesystem::remove(entry.path());
  }
  const auto cache = Open();
  ExpectSamples(*cache, {1, 2, 3});
  EXPECT_EQ(Take(*cache, {1, 2, 3}), 0U) << "they are there";
}

TEST_F(MarkedFilesTest, OtherEntriesAreNotListed) {
  const auto cache = Open();
  ASSERT_TRUE(Put(*cache, kJob, 7, 1000));
  ASSERT_EQ(Take(*cache, {1}), 1U);
  AwaitWrites(2);
  while (List(*cache).empty()) std::this_thread::yield();
  ExpectSamples(*cache, {1});
}

TEST_F(MarkedFilesTest, NewerContentReplacesOlder) {
  const auto cache = Open();
  ASSERT_EQ(Take(*cache, {1}, 1s, /*version=*/1), 1U);
  ASSERT_EQ(Take(*cache, {1}), 1U);
  EXPECT_EQ(cache->Stats().entries, 1U);
  AwaitWrites(2);
  while (List(*cache).empty()) std::this_thread::yield();
  ExpectSamples(*cache, {1});
}

TEST_F(MarkedFilesTest, WhatIsMadeInLessThanAReadIsNotTaken) {
  const auto cache = Open();
  const Duration reads = cache->files()->Cost().Of(30'000);
  EXPECT_EQ(Take(*cache, {1}, reads - 1ns), 0U);
  EXPECT_EQ(Take(*cache, {2}, Duration()), 0U) << "nobody knows what it takes";
  EXPECT_EQ(Take(*cache, {3}, reads), 1U);
  for (int i = 0; i < 100; ++i) cache->files()->NoteRead(1'000'000, 50ms);
  EXPECT_EQ(Take(*cache, {4}, reads), 0U) << "the disk is slow";
  EXPECT_EQ(Take(*cache, {5}, 10ms), 1U);
}

TEST_F(MarkedFilesTest, WhatWaitsToBeWrittenIsBounded) {
  disk_.writes_hang = true;
  const auto cache = Open({.budget = 64 << 20, .most_buffered = 100'000});
  EXPECT_EQ(cache->RoomToTakeOver(kJob), 100'000U);
  EXPECT_EQ(Take(*cache, {1, 2, 3, 4, 5}), 3U);
  EXPECT_LT(cache->RoomToTakeOver(kJob), 30'000U);
  EXPECT_EQ(Take(*cache, {6}), 0U);
  disk_.writes_hang = false;
  while (Take(*cache, {6}) == 0) std::this_thread::yield();
}

// Who is short of memory gives up a segment to have it back.
TEST_F(MarkedFilesTest, AFewOfALargeSegmentDoNotHoldItsMemory) {
  disk_.writes_hang = true;
  const auto cache = Open();
  const std::uint64_t room = cache->RoomToTakeOver(kJob);
  SealedSamples sealed = Sealed({1, 2, 3, 4, 5}, 30'000, Duration());
  sealed.entries[1].cost = sealed.entries[3].cost = 1s;
  const std::weak_ptr<SealedMemory> memory = sealed.memory;
  ASSERT_EQ(cache->TakeOver(kJob, sealed.memory, sealed.entries).entries, 2U);
  sealed.memory.reset();
  EXPECT_TRUE(memory.expired());
  EXPECT_EQ(cache->RoomToTakeOver(kJob), room - 60'000);
  EXPECT_TRUE(Has(*cache, 2)) << "from its copy";
  disk_.writes_hang = false;
  while (List(*cache).size() < 2) std::this_thread::yield();
  ExpectSamples(*cache, {2, 4});
}

TEST_F(MarkedFilesTest, ASegmentThatWaitsIsCountedWholeUntilItsMemoryIsFree) {
  disk_.writes_hang = true;
  const auto cache = Open();
  const std::uint64_t room = cache->RoomToTakeOver(kJob);
  SealedSamples sealed = Sealed({1, 2, 3, 4, 5}, 30'000);
  sealed.entries[0].cost = sealed.entries[4].cost = Duration();
  const std::weak_ptr<SealedMemory> memory = sealed.memory;
  const std::uint64_t whole = memory.lock()->room(), before = cache->KeepTo(kNoQuota);
  ASSERT_EQ(cache->TakeOver(kJob, sealed.memory, sealed.entries).entries, 3U);
  sealed.memory.reset();
  EXPECT_FALSE(memory.expired()) << "nothing was copied";
  EXPECT_EQ(cache->RoomToTakeOver(kJob), room - whole);
  EXPECT_GE(cache->KeepTo(kNoQuota), before + whole);
  CachePin pin = Get(*cache, 2);
  disk_.writes_hang = false;
  while (List(*cache).size() < 3) std::this_thread::yield();
  EXPECT_EQ(cache->RoomToTakeOver(kJob), room - whole) << "somebody reads there";
  EXPECT_TRUE(Equal(pin.bytes(), Payload(2, 0, 30'000)));
  pin = {};
  while (cache->RoomToTakeOver(kJob) != room) std::this_thread::yield();
  EXPECT_TRUE(memory.expired());
  ExpectSamples(*cache, {2, 3, 4});
}

TEST_F(MarkedFilesTest, WhateverIsGivenUpHoldsNoMoreMemoryThanMayWait) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed() != 0
                            ? static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed())
                            : 20261130U;
  SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
  std::mt19937 random(seed);
  constexpr std::uint64_t kMost = 400'000;
  std::size_t held = 0, taken = 0;
  for (int round = 0; round < 30; ++round) {
    disk_.writes_hang = true;
    const auto cache = Open({.budget = 64 << 20, .most_buffered = kMost});
    std::vector<std::weak_ptr<SealedMemory>> segments;
    for (std::uint64_t first = 0; first < 100; first += 10) {
      std::vector<std::uint64_t> inodes(1 + random() % 9);
      std::iota(inodes.begin(), inodes.end(), static_cast<std::uint64_t>(round) * 100 + first);
      const SealedSamples sealed = [&] {
        SealedSamples made = Sealed(inodes, 1 + random() % 30'000);
        for (SealedEntry& entry : made.entries) {
          if (random() % 2 == 0) entry.cost = Duration();
        }
        return made;
      }();
      taken += cache->TakeOver(kJob, sealed.memory, sealed.entries).entries;
      segments.emplace_back(sealed.memory);
    }
    std::uint64_t kept = 0;
    for (const auto& segment : segments) {
      const auto memory = segment.lock();
      if (memory) kept += memory->room();
      if (memory) ++held;
    }
    const std::uint64_t waits = kMost - cache->RoomToTakeOver(kJob);
    disk_.writes_hang = false;
    ASSERT_LE(kept, waits);
  }
  EXPECT_GT(held, 10U);
  EXPECT_GT(taken, 300U);
}

TEST_F(MarkedFilesTest, WhereNobodyCanReadWithoutWaitingNoneIsTaken) {
  Take(*Open(), {1, 2});
  disk_.can_read_now = false;
  const auto cache = Open();
  EXPECT_EQ(cache->files(), nullptr);
  EXPECT_EQ(cache->RoomToTakeOver(kJob), 0U);
  EXPECT_EQ(Take(*cache, {3}), 0U);
  ASSERT_TRUE(Put(*cache, kJob, 7, 1000));
  EXPECT_TRUE(Has(*cache, 7)) << "threads of the worker read other entries";
}

TEST_F(MarkedFilesTest, WhatIsGivenUpIsNotListedAndWhoHasItOpenReadsOn) {
  const auto cache = Open();
  ASSERT_EQ(Take(*cache, {1}), 1U);
  while (List(*cache).empty()) std::this_thread::yield();
  const MarkedEntry entry = List(*cache)[0];
  const auto file = cache->files()->Open(kJob, entry.file);
  const std::uint64_t before = cache->files()->version();
  cache->SetQuota(kJob, 0);
  EXPECT_GT(cache->files()->version(), before);
  EXPECT_TRUE(List(*cache).empty());
  EXPECT_EQ(cache->files()->Open(kJob, entry.file).status().code(), Code::kNotFound);
  EXPECT_EQ(cache->files()->Open(kJob, 1 << 20).status().code(), Code::kNotFound);
  EXPECT_TRUE(Read(entry, file->descriptor.get()));
}

TEST_F(MarkedFilesTest, ADiskThatFailsTakesNothing) {
  const auto cache = Open();
  disk_.write_error = EIO;
  ASSERT_EQ(Take(*cache, {1}), 1U);
  while (cache->files()->Has(Key(1))) std::this_thread::yield();
  EXPECT_EQ(Take(*cache, {2}), 0U);
  EXPECT_EQ(cache->RoomToTakeOver(kJob), 0U);
  EXPECT_TRUE(List(*cache).empty());
}

}  // namespace
}  // namespace headrace::dataworker
