// Entries with marks, which other processes read by themselves: they find them after a restart, and never other bytes.
#include "dataworker/cache/marked_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
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
