#include "coordinator/state/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

namespace headrace::coordinator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// While it lives, newly opened databases count how often SQLite has their log synced to the disk.
class CountedSyncs {
 public:
  CountedSyncs() {
    system_ = sqlite3_vfs_find(nullptr);
    vfs_ = *system_;
    vfs_.zName = "counted-syncs";
    vfs_.xOpen = Open;
    EXPECT_EQ(sqlite3_vfs_register(&vfs_, /*makeDflt=*/1), SQLITE_OK);
  }
  CountedSyncs(const CountedSyncs&) = delete;
  CountedSyncs& operator=(const CountedSyncs&) = delete;
  ~CountedSyncs() { sqlite3_vfs_unregister(&vfs_); }
  static std::int64_t count() { return count_; }

 private:
  static int Open(sqlite3_vfs* /*vfs*/, sqlite3_filename name, sqlite3_file* file, int flags,
                  int* out_flags) {
    const int rc = system_->xOpen(system_, name, file, flags, out_flags);
    if (rc != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0) return rc;
    log_ = *file->pMethods;
    sync_ = log_.xSync;
    log_.xSync = [](sqlite3_file* log, int how) {
      ++count_;
      return sync_(log, how);
    };
    file->pMethods = &log_;
    return rc;
  }

  static inline sqlite3_vfs* system_ = nullptr;
  static inline sqlite3_io_methods log_{};
  static inline int (*sync_)(sqlite3_file*, int) = nullptr;
  static inline std::atomic<std::int64_t> count_ = 0;
  sqlite3_vfs vfs_{};
};

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "journal" + std::string(6, 'X');
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string File() const { return directory_ + "/journal.db"; }

  static Update Job(std::int64_t id) {
    AddJob job;
    job.job = JobId(id);
    job.consumer = ConsumerId(id);
    job.token = "token-of-" + std::to_string(id);
    return job;
  }
  static void AppendAndWait(Journal& journal, const std::vector<Update>& updates) {
    std::promise<void> durable;
    journal.Append(updates, [&] { durable.set_value(); });
    durable.get_future().wait();
  }
  void Sql(const std::string& statement) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(File().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  // The records that a separate connection sees.
  [[nodiscard]] std::int64_t Count(const std::string& where) const {
    sqlite3* db = nullptr;
    std::int64_t count = -1;
    EXPECT_EQ(sqlite3_open_v2(File().c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    const auto take = [](void* into, int, char** columns, char**) {
      *static_cast<std::int64_t*>(into) = std::atoll(columns[0]);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db, ("SELECT count(*) FROM updates WHERE " + where).c_str(), take,
                           &count, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
    return count;
  }
  void FillWithThreeJobs() {
    auto opened = Journal::Open(directory_, {});
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    AppendAndWait(*opened->journal, {Job(1), Job(2)});
    AppendAndWait(*opened->journal, {Job(3)});
  }

  std::string directory_;
};

TEST_F(JournalTest, ReplayGivesTheStateBack) {
  FillWithThreeJobs();
  auto opened = Journal::Open(directory_, {});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(opened->state.jobs().size(), 3U);
  EXPECT_EQ(opened->state.next_job(), JobId(4));
}

// It holds the tokens of jobs.
TEST_F(JournalTest, NobodyElseMayReadItAndAnOlderOneIsTightened) {
  namespace fs = std::filesystem;
  constexpr fs::perms kOwner = fs::perms::owner_read | fs::perms::owner_write;
  const auto expect_own = [&] {
    for (const std::string& file : {File(), File() + "-wal", File() + "-shm"}) {
      EXPECT_EQ(fs::status(file).permissions(), kOwner) << file;
    }
  };
  {
    auto opened = Journal::Open(directory_, {});
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    AppendAndWait(*opened->journal, {Job(1)});
    expect_own();
  }
  fs::permissions(File(), fs::perms::group_read | fs::perms::others_read, fs::perm_options::add);
  std::ofstream(File() + "-wal");  // as a crash leaves it
  fs::permissions(File() + "-wal", fs::perms::others_read, fs::perm_options::add);
  auto opened = Journal::Open(directory_, {});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  AppendAndWait(*opened->journal, {Job(2)});
  expect_own();
}

TEST_F(JournalTest, CompactionKeepsWhatHolds) {
  {
    auto opened = Journal::Open(directory_, {});
    ASSERT_TRUE(opened.ok());
    State state;
    for (int id = 1; id <= 50; ++id) {
      AppendAndWait(*opened->journal, {Job(id), RemoveJob{JobId(id)}});
      ASSERT_TRUE(state.Apply(Job(id)).ok());
      ASSERT_TRUE(state.Apply(RemoveJob{JobId(id)}).ok());
    }
    EXPECT_GE(opened->journal->records(), 100);
    opened->journal->Compact(state.Snapshot());
    EXPECT_EQ(opened->journal->records(), 1);
    AppendAndWait(*opened->journal, {Job(51)});
  }
  auto opened = Journal::Open(directory_, {});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(opened->state.jobs().size(), 1U);
  EXPECT_EQ(opened->state.next_job(), JobId(52));
}

TEST_F(JournalTest, StopDrains) {
  bool durable = false;
  {
    auto opened = Journal::Open(directory_, {});
    ASSERT_TRUE(opened.ok());
    opened->journal->Append({Job(1)}, [&] { durable = true; });
    opened->journal->Stop();
    opened->journal->Stop();
    EXPECT_TRUE(durable);
  }
  auto opened = Journal::Open(directory_, {});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->state.jobs().size(), 1U);
}

// Checks what another process finds in the file when an answer may go out.
TEST_F(JournalTest, WhatIsAcknowledgedIsCommitted) {
  auto opened = Journal::Open(directory_, {});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  for (int id = 1; id <= 5; ++id) {
    std::promise<std::int64_t> seen;
    opened->journal->Append({Job(id)}, [&] {
      seen.set_value(Count("body LIKE '%token-of-" + std::to_string(id) + "\"%'"));
    });
    EXPECT_EQ(seen.get_future().get(), 1) << "job " << id;
  }
}

// A committed transaction that is not on the disk is lost on a power failure.
TEST_F(JournalTest, WhatIsAcknowledgedIsSynced) {
  const CountedSyncs syncs;
  auto opened = Journal::Open(directory_, {});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  AppendAndWait(*opened->journal, {Job(1)});  // after the first snapshot
  for (int id = 2; id <= 6; ++id) {
    const std::int64_t before = CountedSyncs::count();
    std::int64_t then = 0;
    std::promise<void> durable;
    opened->journal->Append({Job(id)}, [&] {
      then = CountedSyncs::count();
      durable.set_value();
    });
    durable.get_future().wait();
    EXPECT_GT(then, before) << "job " << id;
  }
}

// 10,000 workers make a snapshot that is larger than a small cluster's whole journal.
TEST_F(JournalTest, ALargeStateIsCompactedToo) {
  auto opened = Journal::Open(directory_, {});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  Journal& journal = *opened->journal;
  const std::vector<Update> few(static_cast<std::size_t>(Journal::kCompactAfter), Job(1));
  AppendAndWait(journal, few);
  EXPECT_TRUE(journal.compaction_due()) << "with the one that it began with";
  journal.Compact(few);
  EXPECT_FALSE(journal.compaction_due());
  AppendAndWait(journal, few);
  EXPECT_FALSE(journal.compaction_due()) << "a snapshot of all of it for each record";
  AppendAndWait(journal, {Job(1)});
  EXPECT_TRUE(journal.compaction_due());
}

TEST_F(JournalTest, TornFileIsDataLossThatNamesFileAndRemedy) {
  FillWithThreeJobs();
  std::filesystem::resize_file(File(), std::filesystem::file_size(File()) / 2 + 100);
  const auto opened = Journal::Open(directory_, {});
  EXPECT_EQ(opened.status().code(), Code::kDataLoss);
  EXPECT_THAT(opened.status().message(), AllOf(HasSubstr(File()), HasSubstr("move the file away")));
}

TEST_F(JournalTest, AFileThatIsNoDatabaseIsDataLoss) {
  std::ofstream(File()) << std::string(8192, 'x');
  const auto opened = Journal::Open(directory_, {});
  EXPECT_EQ(opened.status().code(), Code::kDataLoss);
  EXPECT_THAT(opened.status().message(), AllOf(HasSubstr(File()), HasSubstr("move the file away")));
}

TEST_F(JournalTest, AChangedRecordIsDataLoss) {
  FillWithThreeJobs();
  Sql("UPDATE updates SET body=replace(body, 'token-of-2', 'token-of-9')");
  const auto opened = Journal::Open(directory_, {});
  EXPECT_EQ(opened.status().code(), Code::kDataLoss);
  EXPECT_THAT(opened.status().message(), AllOf(HasSubstr("record "), HasSubstr("checksum")));
}

TEST_F(JournalTest, AMissingRecordIsDataLoss) {
  FillWithThreeJobs();
  Sql("DELETE FROM updates WHERE body LIKE '%token-of-2%'");
  const auto opened = Journal::Open(directory_, {});
  EXPECT_EQ(opened.status().code(), Code::kDataLoss);
  EXPECT_THAT(opened.status().message(), HasSubstr("a gap before it"));
}

TEST_F(JournalTest, TwoOwnersAreRefused) {
  const auto first = Journal::Open(directory_, {});
  ASSERT_TRUE(first.ok());
  const auto second = Journal::Open(directory_, {});
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr("in use by another coordinator"));
}

TEST_F(JournalTest, AJournalOfANewerReleaseIsRefused) {
  FillWithThreeJobs();
  Sql("PRAGMA user_version=3");
  const auto opened = Journal::Open(directory_, {});
  EXPECT_EQ(opened.status().code(), Code::kUnavailable);
  EXPECT_THAT(opened.status().message(), HasSubstr("journal version 3"));
}

}  // namespace
}  // namespace headrace::coordinator
