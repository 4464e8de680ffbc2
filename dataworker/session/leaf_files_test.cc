// Leaves that memory has no room for are in files: found by the same index, after a restart too, and with their bytes.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "dataworker/cache/disk/disk_cache.h"
#include "dataworker/cache/disk/faulty_disk.h"
#include "dataworker/cache/disk/record.h"
#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/session/leaf_shelf.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

constexpr JobId kFileJob(1);
constexpr std::uint64_t kAllBytes = std::uint64_t{1} << 60;  // a quota
constexpr std::uint64_t kFileMaker = 7;
constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;

Bytes LeafBytes(std::uint64_t tag, std::uint64_t version, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(tag * 31 + version * 7 + i + i / 251);
  }
  return bytes;
}

struct FileLeaf {
  std::uint64_t tag = 0;
  std::size_t bytes = 0;
  std::uint64_t version = 0;
  std::uint64_t cost_ns = 50'000'000;
};
// Whose first word has a bit that names of workers need for themselves.
LeafShelf::Row RowFor(const FileLeaf& leaf, std::uint64_t offset) {
  return {leaf.tag, kTopBit | 1, leaf.tag, 10,         leaf.version, 0,
          7,        8,           offset,   leaf.bytes, leaf.cost_ns};
}

class LeafFilesTest : public ::testing::Test {
 protected:
  LeafFilesTest() {
    std::string pattern = testing::TempDir() + "leaf_files_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    Start();
  }
  ~LeafFilesTest() override {
    shelf_.reset();
    store_.reset();
    std::filesystem::remove_all(path_);
  }
  // A worker begins, after the end of the one before.
  void Start(std::uint64_t memory = 1 << 20, std::uint64_t disk = 64 << 20) {
    shelf_.reset();
    store_.reset();
    auto folder = SegmentFolder::Open(path_, kFileMaker, disk_);
    ASSERT_TRUE(folder.ok()) << folder.status().ToString();
    std::vector<SampleStore::Tier> tiers;
    if (memory > 0) tiers.push_back({"memory", MakeMemoryCache(memory)});
    tiers.push_back({"disk", MakeDiskCache({.budget = disk}, std::move(folder).value())});
    store_ = std::make_shared<SampleStore>(std::move(tiers));
    store_->AddJob(kFileJob, kAllBytes);
    shelf_ = std::make_unique<LeafShelf>(store_);
  }
  Status Put(const std::vector<FileLeaf>& leaves, JobId job = kFileJob) {
    Bytes content;
    std::vector<LeafShelf::Row> rows;
    for (const FileLeaf& leaf : leaves) {
      rows.push_back(RowFor(leaf, content.size()));
      const Bytes bytes = LeafBytes(leaf.tag, leaf.version, leaf.bytes);
      content.insert(content.end(), bytes.begin(), bytes.end());
      content.resize((content.size() + 63) / 64 * 64);
    }
    const ByteSpan raw = std::as_bytes(std::span(rows));
    content.insert(content.end(), raw.begin(), raw.end());
    UniqueFd file(::memfd_create("leaves", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::write(file.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
    return shelf_->Put(job, std::move(file), rows.size(), content.size());
  }
  std::vector<LeafShelf::FullRow> Rows() {
    now_ += LeafShelf::kLeastAge;  // files of now
    return RowsNow();
  }
  std::vector<LeafShelf::FullRow> RowsNow() {
    const auto index = shelf_->Index(now_);
    EXPECT_TRUE(index.ok());
    std::vector<LeafShelf::FullRow> rows(index->bytes / sizeof(LeafShelf::FullRow));
    EXPECT_EQ(::pread(index->memory.get(), rows.data(), index->bytes, 0),
              static_cast<ssize_t>(index->bytes));
    EXPECT_TRUE(std::ranges::is_sorted(rows, {}, [](const auto& row) { return row[0]; }));
    return rows;
  }
  // When all that was handed to the thread that writes is written.
  std::vector<LeafShelf::FullRow> RowsOf(std::size_t count) {
    std::vector<LeafShelf::FullRow> rows = Rows();
    while (rows.size() < count) {
      std::this_thread::yield();
      rows = Rows();
    }
    return rows;
  }
  static bool IsOfFile(const LeafShelf::FullRow& row) { return (row[8] & LeafShelf::kOfFile) != 0; }
  static std::size_t OfFiles(const std::vector<LeafShelf::FullRow>& rows) {
    return static_cast<std::size_t>(std::ranges::count_if(rows, IsOfFile));
  }
  // What a lane reads there. Empty: the worker has given it up meanwhile.
  std::optional<Bytes> Read(const LeafShelf::FullRow& row) {
    const auto file = shelf_->Segment(kFileJob, row[8]);
    if (!file.ok()) {
      EXPECT_EQ(file.status().code(), Code::kNotFound);
      return std::nullopt;
    }
    Bytes bytes(row[10]);
    std::uint64_t offset = row[9];
    if (IsOfFile(row)) {
      Bytes header(kRecordHeaderBytes);
      EXPECT_EQ(
          ::pread(file->memory.get(), header.data(), header.size(), static_cast<off_t>(offset)),
          static_cast<ssize_t>(header.size()));
      const auto record = DecodeRecordHeader(header);
      EXPECT_TRUE(record.ok());
      if (record.ok()) {
        EXPECT_EQ(record->mark, (EntryMark{row[0], row[6], row[7], row[1]}));
      }
      offset += kRecordHeaderBytes;
    }
    EXPECT_LE(offset + bytes.size(), file->bytes);
    EXPECT_EQ(::pread(file->memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
  void ExpectAll(const std::vector<LeafShelf::FullRow>& rows) {
    for (const LeafShelf::FullRow& row : rows) {
      EXPECT_EQ(row[1], kTopBit | 1) << "as the lane has said it";
      EXPECT_EQ(row[6], 7U);
      EXPECT_EQ(row[7], 8U);
      const auto read = Read(row);
      ASSERT_TRUE(read);
      EXPECT_TRUE(std::ranges::equal(*read, LeafBytes(row[0], row[4], row[10])));
    }
  }
  StoreQuota OnDiskAlone() { return {.bytes = 0, .tiers = {{"disk", kAllBytes}}}; }

  std::string path_;
  SteadyTime now_{};
  FaultyDisk disk_;
  std::shared_ptr<SampleStore> store_;
  std::unique_ptr<LeafShelf> shelf_;
};

TEST_F(LeafFilesTest, WhatMemoryHasNoRoomForIsFoundInFiles) {
  ASSERT_TRUE(Put({{1, 300'000}, {2, 300'000}}).ok());
  EXPECT_EQ(OfFiles(Rows()), 0U) << "memory first";
  ASSERT_TRUE(Put({{3, 300'000}, {4, 300'000}}).ok());
  const auto rows = RowsOf(4);
  EXPECT_EQ(OfFiles(rows), 2U);
  ExpectAll(rows);
  for (const auto& row : rows) EXPECT_EQ(row[11], 50'000'000U);
  EXPECT_EQ(Put({{3, 300'000}}).code(), Code::kResourceExhausted) << "it is in a file";
}

TEST_F(LeafFilesTest, WhatMemoryGivesUpIsFoundInFiles) {
  ASSERT_TRUE(Put({{1, 300'000}, {2, 300'000}}).ok());
  store_->SetQuota(kFileJob, OnDiskAlone());
  const auto rows = RowsOf(2);
  EXPECT_EQ(OfFiles(rows), 2U);
  ExpectAll(rows);
  EXPECT_EQ(store_->JobStats()[0].all.entries, 2U);
}

TEST_F(LeafFilesTest, MemoryThatTheWorkerHasToGiveBackGoesToFiles) {
  ASSERT_TRUE(Put({{1, 300'000}, {2, 300'000}}).ok());
  store_->KeepTo(100'000);
  ExpectAll(RowsOf(2));
  EXPECT_EQ(OfFiles(Rows()), 2U);
}

TEST_F(LeafFilesTest, TheNextWorkerFindsThem) {
  store_->SetQuota(kFileJob, OnDiskAlone());
  ASSERT_TRUE(Put({{1, 300'000}, {2, 300'000}}).ok());
  RowsOf(2);
  Start();
  const auto rows = Rows();
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(OfFiles(rows), 2U);
  ExpectAll(rows);
  Start(/*memory=*/0);
  ExpectAll(Rows());
  EXPECT_EQ(Rows().size(), 2U);
}

TEST_F(LeafFilesTest, WhatIsQuickerToMakeThanToReadGoes) {
  store_->SetQuota(kFileJob, OnDiskAlone());
  EXPECT_EQ(Put({{1, 300'000, 0, 200'000}}).code(), Code::kResourceExhausted);
  ASSERT_TRUE(Put({{1, 300'000, 0, 200'000}, {2, 300'000}}).ok());
  EXPECT_EQ(RowsOf(1)[0][0], 2U);
  EXPECT_TRUE(shelf_->CostOfFiles().has_value());
}

TEST_F(LeafFilesTest, LanesThatKnowNoFilesAreToldOfMemoryAlone) {
  ASSERT_TRUE(Put({{1, 300'000}, {2, 300'000}}).ok());
  ASSERT_TRUE(Put({{3, 300'000}}).ok() && Put({{4, 300'000}}).ok());
  RowsOf(4);
  const auto old = shelf_->IndexOfMemory();
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->bytes % sizeof(LeafShelf::IndexRow), 0U);
  EXPECT_EQ(old->bytes / sizeof(LeafShelf::IndexRow), Rows().size() - OfFiles(Rows()));
}

TEST_F(LeafFilesTest, AnIndexIsMadeAgainOnlyWhenSomethingComesOrGoes) {
  store_->SetQuota(kFileJob, OnDiskAlone());
  ASSERT_TRUE(Put({{1, 300'000}}).ok());
  RowsOf(1);
  const auto inode = [&] {
    struct stat st;
    EXPECT_EQ(::fstat(shelf_->Index(now_)->memory.get(), &st), 0);
    return st.st_ino;
  };
  const auto first = inode();
  EXPECT_EQ(inode(), first);
  store_->SetQuota(kFileJob, StoreQuota{});
  EXPECT_TRUE(Rows().empty());
}

// Each file write is a change, and each lane asks.
TEST_F(LeafFilesTest, WhatIsWrittenMakesAnIndexAgainOnlyNowAndThen) {
  store_->SetQuota(kFileJob, OnDiskAlone());
  ASSERT_TRUE(Put({{1, 300'000}}).ok());
  RowsOf(1);
  const auto await = [&](std::size_t count) {
    while (store_->files()->List(10).size() != count) std::this_thread::yield();
  };
  ASSERT_TRUE(Put({{2, 300'000}}).ok());
  await(2);
  EXPECT_EQ(RowsNow().size(), 1U);
  now_ += LeafShelf::kLeastAge - Duration(1);
  EXPECT_EQ(RowsNow().size(), 1U);
  now_ += Duration(1);
  EXPECT_EQ(RowsNow().size(), 2U);
  store_->SetQuota(kFileJob, StoreQuota{});
  const auto rows = RowsNow();
  ASSERT_EQ(rows.size(), 2U) << "they have gone";
  for (const auto& row : rows) EXPECT_FALSE(Read(row)) << "which is a miss";
  now_ += LeafShelf::kLeastAge;
  EXPECT_TRUE(RowsNow().empty());
}

TEST_F(LeafFilesTest, WhatComesToMemoryIsNamedAtOnceAndFilesWithIt) {
  ASSERT_TRUE(Put({{1, 30'000}}).ok());
  EXPECT_EQ(RowsNow().size(), 1U);
  ASSERT_TRUE(Put({{2, 30'000}}).ok());
  EXPECT_EQ(RowsNow().size(), 2U);
  store_->SetQuota(kFileJob, OnDiskAlone());
  while (store_->files()->List(10).size() < 2) std::this_thread::yield();
  const auto rows = RowsNow();
  EXPECT_EQ(OfFiles(rows), 2U);
  ExpectAll(rows);
}

TEST_F(LeafFilesTest, WhereLanesCouldNotReadWithoutWaitingNoneIsInFiles) {
  store_->SetQuota(kFileJob, OnDiskAlone());
  ASSERT_TRUE(Put({{1, 300'000}}).ok());
  RowsOf(1);
  disk_.can_read_now = false;
  Start();
  EXPECT_TRUE(Rows().empty());
  EXPECT_FALSE(shelf_->CostOfFiles());
  EXPECT_EQ(shelf_->Room(kFileJob).files, 0U);
  store_->SetQuota(kFileJob, OnDiskAlone());
  EXPECT_EQ(Put({{2, 300'000}}).code(), Code::kResourceExhausted);
}

TEST_F(LeafFilesTest, LookupsAreCountedWhereTheyEnded) {
  store_->CountLookups(kFileJob, {.hits = 5, .of_files = 3, .misses = 2});
  const StoreJobStats stats = store_->JobStats()[0];
  EXPECT_EQ(stats.tiers[0].hits, 5U);
  EXPECT_EQ(stats.tiers[0].misses, 5U);
  EXPECT_EQ(stats.tiers[1].hits, 3U);
  EXPECT_EQ(stats.tiers[1].misses, 2U);
  EXPECT_EQ(stats.all.hits, 8U);
  EXPECT_EQ(stats.all.misses, 2U);
}

TEST_F(LeafFilesTest, AFileThatWasGivenUpAndOneThatNeverWasAreNotFound) {
  store_->SetQuota(kFileJob, OnDiskAlone());
  ASSERT_TRUE(Put({{1, 300'000}}).ok());
  const std::uint64_t file = RowsOf(1)[0][8];
  store_->SetQuota(kFileJob, StoreQuota{});
  for (const std::uint64_t number : {file, LeafShelf::kOfFile, ~std::uint64_t{0}}) {
    EXPECT_EQ(shelf_->Segment(kFileJob, number).status().code(), Code::kNotFound);
  }
}

// As in memory: the job of a neighbour's lane protects nothing here.
TEST_F(LeafFilesTest, AFileThatANeighbourUsesIsGivenUpNoSooner) {
  Start(0, 64 << 20);
  std::vector<LeafShelf::FullRow> rows;
  const auto last = [&] {
    return std::ranges::max(rows, {}, [](const auto& row) { return row[8]; });
  };
  for (std::uint64_t tag = 1; rows.empty() || last()[8] == rows[0][8]; ++tag) {
    ASSERT_TRUE(Put({{tag, 900'000}}).ok());
    rows = RowsOf(tag);
    std::ranges::sort(rows, {}, [](const auto& row) { return row[8]; });
  }
  const std::uint64_t used = rows[0][8];
  ASSERT_TRUE(shelf_->Segment(std::nullopt, used).ok());
  const std::uint64_t bytes = store_->JobStats()[0].all.bytes;
  store_->SetQuota(kFileJob, StoreQuota{.bytes = 0, .tiers = {{"disk", bytes - 1}}});
  rows = Rows();
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows)
    EXPECT_EQ(row[8], used) << "the smaller one goes, as without neighbours";
}

// Lanes hand over, quotas change, files change, the worker starts again: what an index names has the bytes of its
// name, or is not found, and budgets are kept.
TEST_F(LeafFilesTest, WhateverHappensAnIndexNeverNamesOtherBytes) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed() != 0
                            ? static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed())
                            : 20261130U;
  SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
  std::mt19937 random(seed);
  std::size_t of_files = 0, of_memory = 0;
  for (int step = 0; step < 300; ++step) {
    const unsigned what = random() % 20;
    if (what == 0) {
      Start(random() % 3 * (1 << 19), (2 + random() % 4) << 20);
    } else if (what == 1) {
      store_->SetQuota(kFileJob, StoreQuota{.bytes = random() % (6 << 20)});
    } else if (what == 2) {
      store_->SetQuota(kFileJob, std::nullopt);
    } else if (what == 3) {
      store_->KeepTo(random() % (1 << 20));
    } else {
      std::vector<FileLeaf> leaves(1 + random() % 6);
      std::map<std::uint64_t, bool> used;
      for (FileLeaf& leaf : leaves) {
        leaf = {random() % 60, random() % 90'000, random() % 2, random() % 2 * 50'000'000};
        while (used.contains(leaf.tag)) ++leaf.tag;
        used[leaf.tag] = true;
      }
      (void)Put(leaves);
    }
    ASSERT_LE(store_->Stats().bytes, store_->Stats().budget);
    if (step % 3 != 0) continue;
    for (const LeafShelf::FullRow& row : Rows()) {
      const auto read = Read(row);
      if (!read) continue;
      ASSERT_TRUE(std::ranges::equal(*read, LeafBytes(row[0], row[4], row[10])));
      ++(IsOfFile(row) ? of_files : of_memory);
    }
  }
  EXPECT_GT(of_files, 100U);
  EXPECT_GT(of_memory, 100U);
}

}  // namespace
}  // namespace headrace::dataworker
