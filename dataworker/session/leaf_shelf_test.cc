// What lanes hand over is kept without a copy, counted as all entries are, and never believed further than it can
// be checked.
#include "dataworker/session/leaf_shelf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/cache/sealed_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using LeafRow = LeafShelf::Row;
constexpr int kLeafSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;

constexpr JobId kLeafJob(1), kLeafOther(2);
constexpr std::uint64_t kAnyQuota = std::uint64_t{1} << 60;  // a quota

Bytes PixelsOf(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(31 * i + i / 251);
  return bytes;
}

bool SameBytes(ByteSpan a, ByteSpan b) { return std::ranges::equal(a, b); }

LeafRow RowOf(std::uint64_t tag, std::uint64_t offset, std::uint64_t bytes,
              std::uint64_t version = 0) {
  return {tag, 1, tag, 10, version, 0, 7, 7, offset, bytes, 1000};
}

UniqueFd Memory(ByteSpan content, int seals = kLeafSeals) {
  UniqueFd file(::memfd_create("leaves", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::write(file.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

// `entries` bytes, and the rows after them.
Bytes Content(std::size_t entries, const std::vector<LeafRow>& rows) {
  Bytes content = PixelsOf(entries);
  const ByteSpan raw = std::as_bytes(std::span(rows));
  content.insert(content.end(), raw.begin(), raw.end());
  return content;
}

class LeafShelfTest : public ::testing::Test {
 protected:
  explicit LeafShelfTest(std::uint64_t budget = 16 << 20) {
    std::vector<SampleStore::Tier> tiers;
    tiers.push_back({"memory", MakeMemoryCache(budget)});
    store_ = std::make_shared<SampleStore>(std::move(tiers));
    store_->AddJob(kLeafJob, kAnyQuota);
    shelf_ = std::make_unique<LeafShelf>(store_);
  }
  Status Put(std::size_t entries, const std::vector<LeafRow>& rows, JobId job = kLeafJob) {
    const Bytes content = Content(entries, rows);
    return shelf_->Put(job, Memory(content), rows.size(), content.size());
  }
  std::vector<LeafShelf::FullRow> Index(SteadyTime now = {}) {
    const auto index = shelf_->Index(now);
    EXPECT_TRUE(index.ok());
    std::vector<LeafShelf::FullRow> rows(index->bytes / sizeof(LeafShelf::FullRow));
    EXPECT_EQ(::pread(index->memory.get(), rows.data(), index->bytes, 0),
              static_cast<ssize_t>(index->bytes));
    return rows;
  }
  StoreJobStats Stats() { return store_->JobStats().front(); }

  std::shared_ptr<SampleStore> store_;
  std::unique_ptr<LeafShelf> shelf_;
};

TEST_F(LeafShelfTest, WhatIsHandedOverIsFoundByTheIndexAndIsTheVeryMemory) {
  ASSERT_TRUE(Put(8192, {RowOf(9, 64, 100), RowOf(5, 4096, 4096)}).ok());
  const auto rows = Index();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][0], 5U) << "sorted by tag";
  EXPECT_EQ(rows[0][9], 4096U);
  EXPECT_EQ(rows[0][10], 4096U);
  EXPECT_EQ(rows[0][11], 1000U) << "what it took to make";
  auto segment = shelf_->Segment(kLeafJob, rows[1][8]);
  ASSERT_TRUE(segment.ok());
  std::array<std::byte, 100> read{};
  ASSERT_EQ(::pread(segment->memory.get(), read.data(), read.size(), 64), 100);
  EXPECT_TRUE(SameBytes(read, ByteSpan(PixelsOf(8192)).subspan(64, 100)));
  EXPECT_LT(::pwrite(segment->memory.get(), read.data(), 1, 0), 0) << "sealed";
}

// It is sorted and written on the reactor thread, and each lane asks for it several times an epoch.
TEST_F(LeafShelfTest, AnIndexIsMadeOnceUntilSomethingComesOrGoesAndNobodyWritesIt) {
  const auto inode = [&] {
    struct stat st;
    EXPECT_EQ(::fstat(shelf_->Index(SteadyTime())->memory.get(), &st), 0);
    return st.st_ino;
  };
  ASSERT_TRUE(Put(4096, {RowOf(1, 0, 100)}).ok());
  const auto first = inode();
  EXPECT_EQ(inode(), first);
  const auto index = shelf_->Index(SteadyTime());
  EXPECT_LT(::pwrite(index->memory.get(), "x", 1, 0), 0) << "one lane's is all lanes'";
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, index->memory.get(), 0), MAP_FAILED);
  ASSERT_TRUE(Put(4096, {RowOf(2, 0, 100)}).ok());
  EXPECT_EQ(Index().size(), 2U);
  store_->SetQuota(kLeafJob, StoreQuota{});
  EXPECT_TRUE(Index().empty());
}

// It takes long to make, and is made where others wait.
TEST_F(LeafShelfTest, ALargeIndexIsMadeAgainOnlyNowAndThen) {
  std::vector<LeafRow> rows;
  for (std::uint64_t tag = 0; tag < 30'000; ++tag) rows.push_back(RowOf(tag, 0, 8));
  ASSERT_TRUE(Put(64, rows).ok());
  ASSERT_EQ(Index().size(), 30'000U);
  ASSERT_TRUE(Put(64, {RowOf(30'000, 0, 8)}).ok());
  EXPECT_EQ(Index().size(), 30'000U);
  const SteadyTime later = SteadyTime() + 30'000 * LeafShelf::kAgeOfRow;
  EXPECT_EQ(Index(later - Duration(1)).size(), 30'000U);
  EXPECT_EQ(Index(later).size(), 30'001U);
}

TEST_F(LeafShelfTest, NeighboursThatComeAndGoDoNotMakeALargeIndexAgain) {
  std::vector<LeafRow> rows;
  for (std::uint64_t tag = 0; tag < 30'000; ++tag) rows.push_back(RowOf(tag, 0, 8));
  ASSERT_TRUE(Put(64, rows).ok());
  std::uint64_t version = 0;
  const auto keeps = [&](std::size_t count) {
    std::vector<Neighbours::Offered> offered;
    if (count > 0) {
      const Bytes index(count * sizeof(LeafShelf::FullRow));
      auto sealed = SealedMemory::Take(Memory(index), index.size());
      ASSERT_TRUE(sealed.ok());
      offered.push_back({1, std::move(sealed).value()});
    }
    shelf_->SetNeighbours(std::move(offered), ++version);
  };
  const SteadyTime later = SteadyTime() + 30'001 * LeafShelf::kAgeOfRow;
  keeps(1);
  EXPECT_EQ(Index().size(), 30'001U);
  keeps(0);
  EXPECT_EQ(Index().size(), 30'000U);
  keeps(2);
  EXPECT_EQ(Index(later - Duration(1)).size(), 30'001U);
  EXPECT_EQ(Index(later).size(), 30'002U);
}

TEST_F(LeafShelfTest, ItCountsInTheJobsQuotaWithItsEntries) {
  ASSERT_TRUE(Put(1 << 20, {RowOf(1, 0, 1000), RowOf(2, 4096, 1000)}).ok());
  EXPECT_EQ(Stats().all.entries, 2U);
  EXPECT_GE(Stats().all.bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(shelf_->Room(kLeafJob).memory, (std::uint64_t{16} << 20) - Stats().all.bytes);
  store_->CountLookups(kLeafJob, {.hits = 3, .misses = 5});
  EXPECT_EQ(Stats().all.hits, 3U);
  EXPECT_EQ(Stats().all.misses, 5U);
  EXPECT_EQ(Stats().all.made_in, std::chrono::nanoseconds(2000)) << "as their rows say";
}

TEST_F(LeafShelfTest, AQuotaOfNothingTakesNothing) {
  store_->SetQuota(kLeafJob, StoreQuota{});
  EXPECT_EQ(shelf_->Room(kLeafJob).memory, 0U);
  EXPECT_EQ(Put(4096, {RowOf(1, 0, 100)}).code(), Code::kResourceExhausted);
  EXPECT_TRUE(Index().empty());
}

TEST_F(LeafShelfTest, WhatAQuotaTakesAwayIsNotFoundAndItsReadersKeepIt) {
  ASSERT_TRUE(Put(1 << 20, {RowOf(1, 0, 1000)}).ok());
  const std::uint64_t id = Index()[0][8];
  auto segment = shelf_->Segment(kLeafJob, id);
  ASSERT_TRUE(segment.ok());
  store_->SetQuota(kLeafJob, StoreQuota{});
  EXPECT_TRUE(Index().empty());
  EXPECT_EQ(shelf_->Segment(kLeafJob, id).status().code(), Code::kNotFound);
  EXPECT_EQ(Stats().all.bytes, 0U) << "all of its room is free again";
  std::array<std::byte, 8> read{};
  ASSERT_EQ(::pread(segment->memory.get(), read.data(), read.size(), 0), 8);
  EXPECT_TRUE(SameBytes(read, ByteSpan(PixelsOf(8))));
}

TEST_F(LeafShelfTest, TwoLanesThatMadeTheSameKeepItOnce) {
  ASSERT_TRUE(Put(4096, {RowOf(1, 0, 100)}).ok());
  EXPECT_EQ(Put(4096, {RowOf(1, 0, 100)}).code(), Code::kResourceExhausted);
  ASSERT_TRUE(Put(8192, {RowOf(1, 0, 100), RowOf(2, 4096, 100)}).ok());
  EXPECT_EQ(Stats().all.entries, 2U);
}

TEST_F(LeafShelfTest, NewerContentOfAFileReplacesOlder) {
  ASSERT_TRUE(Put(4096, {RowOf(1, 0, 100, 1)}).ok());
  ASSERT_TRUE(Put(4096, {RowOf(1, 0, 100, 2)}).ok());
  EXPECT_EQ(Stats().all.entries, 1U);
  EXPECT_EQ(Index().size(), 1U) << "the segment of the older one has gone";
}

TEST_F(LeafShelfTest, AnotherJobFindsItAndWhatAnEndedOneLeftGivesWay) {
  ASSERT_TRUE(Put(8 << 20, {RowOf(1, 0, 1000)}).ok());
  store_->AddJob(kLeafOther, kAnyQuota);
  store_->RemoveJob(kLeafJob);
  ASSERT_EQ(Index().size(), 1U);
  EXPECT_TRUE(shelf_->Segment(kLeafOther, Index()[0][8]).ok());
  store_->RemoveJob(kLeafOther);
  store_->AddJob(JobId(3), kAnyQuota);
  ASSERT_TRUE(Put(9 << 20, {RowOf(2, 0, 1000)}, JobId(3)).ok());
  ASSERT_EQ(Index().size(), 1U);
  EXPECT_EQ(Index()[0][0], 2U);
}

TEST_F(LeafShelfTest, AJobThatIsNotHereHasNoRoom) {
  EXPECT_EQ(shelf_->Room(kLeafOther).memory, 0U);
  EXPECT_EQ(Put(4096, {RowOf(1, 0, 100)}, kLeafOther).code(), Code::kResourceExhausted);
}

TEST_F(LeafShelfTest, MemoryThatCanStillChangeIsRefused) {
  const Bytes content = Content(4096, {RowOf(1, 0, 100)});
  for (const int seals : {0, F_SEAL_WRITE, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_WRITE | F_SEAL_GROW,
                          F_SEAL_WRITE | F_SEAL_SHRINK}) {
    EXPECT_EQ(shelf_->Put(kLeafJob, Memory(content, seals), 1, content.size()).code(),
              Code::kInvalidArgument)
        << seals;
  }
  EXPECT_EQ(shelf_->Put(kLeafJob, UniqueFd(), 1, 8).code(), Code::kInvalidArgument);
  EXPECT_EQ(shelf_->Put(kLeafJob, UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), 1, 8).code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(Index().empty());
}

TEST_F(LeafShelfTest, RowsAndEntriesThatLieOutsideAreRefused) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  for (const LeafRow& row :
       {RowOf(1, 0, 4097), RowOf(1, 4097, 0), RowOf(1, kMost, 2), RowOf(1, 2, kMost)}) {
    EXPECT_EQ(Put(4096, {row}).code(), Code::kInvalidArgument);
  }
  const Bytes content = Content(4096, {RowOf(1, 0, 100)});
  for (const auto& [rows, end] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, content.size()},
                                                            {2, 100},
                                                            {1, content.size() + 1},
                                                            {kMost / 88 + 2, content.size()},
                                                            {1, kMost},
                                                            {100, content.size()}}) {
    EXPECT_EQ(shelf_->Put(kLeafJob, Memory(content), rows, end).code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(Index().empty());
  EXPECT_EQ(Stats().all.bytes, 0U);
}

TEST_F(LeafShelfTest, NoRowNamesAnEntryThatTheWorkerMakes) {
  ASSERT_TRUE(Put(4096, {RowOf(1, 0, 100)}).ok());
  CacheKey same;
  same.content = {.place = {1, 1}, .version = {10, 0, 0}};
  same.form = {7, 7};
  EXPECT_FALSE(store_->Find(kLeafJob, same).pin);
}

TEST_F(LeafShelfTest, OtherEntriesFillAndLeaveRoundIt) {
  ASSERT_TRUE(Put(1 << 20, {RowOf(900, 0, 1000), RowOf(901, 4096, 1000)}).ok());
  for (std::uint64_t inode = 0; inode < 40; ++inode) {
    CacheKey key;
    key.content.place = {2, inode};
    auto claim = store_->TryClaim(kLeafJob, key, 100'000);
    ASSERT_TRUE(claim && claim.Commit(Bytes(100'000)));
    if (inode % 2 == 0) store_->Forget(key);
  }
  auto segment = shelf_->Segment(kLeafJob, Index()[0][8]);
  ASSERT_TRUE(segment.ok());
  std::array<std::byte, 1000> read{};
  ASSERT_EQ(::pread(segment->memory.get(), read.data(), read.size(), 0), 1000);
  EXPECT_TRUE(SameBytes(read, ByteSpan(PixelsOf(1000)))) << "nobody writes over it";
}

}  // namespace
}  // namespace headrace::dataworker
