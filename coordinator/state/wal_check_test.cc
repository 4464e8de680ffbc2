// What a crash leaves of the journal, and what a disk changes in it.
#include "coordinator/state/wal_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "base/hash.h"
#include "coordinator/state/journal.h"

namespace headrace::coordinator {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CrashedJournalTest : public ::testing::Test {
 protected:
  static constexpr int kJobs = 5;

  // The files as a coordinator that was killed leaves them: with a log, each job one transaction.
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "crashed" + std::string(6, 'X');
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    const std::string alive = root_ + "/alive";
    auto opened = Journal::Open(alive, {});
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    for (int id = 1; id <= kJobs; ++id) {
      AddJob job;
      job.job = JobId(id);
      job.consumer = ConsumerId(id);
      job.token = "token-of-" + std::to_string(id);
      std::promise<void> durable;
      opened->journal->Append({job}, [&] { durable.set_value(); });
      durable.get_future().wait();
    }
    fs::create_directory(Crashed());
    for (const char* file : {"/journal.db", "/journal.db-wal"}) {
      fs::copy_file(alive + file, Crashed() + file);
    }
    bytes_ = fs::file_size(Wal());
    ASSERT_GT(bytes_, 5 * 4096U);
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] std::string Crashed() const { return root_ + "/crashed"; }
  [[nodiscard]] std::string Wal() const { return Crashed() + "/journal.db-wal"; }
  void Flip(std::size_t at) const {
    std::fstream file(Wal(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  // The jobs of a coordinator that starts there now.
  [[nodiscard]] Result<std::size_t> Jobs() const {
    HR_TRY(const Journal::Opened opened, Journal::Open(Crashed(), {}));
    return opened.state.jobs().size();
  }

  std::string root_;
  std::size_t bytes_ = 0;  // of the log
};

TEST_F(CrashedJournalTest, NothingThatWasAcknowledgedIsLost) {
  EXPECT_TRUE(CheckWal(Wal()).ok());
  const auto jobs = Jobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status().ToString();
  EXPECT_EQ(*jobs, std::size_t{kJobs});
}

TEST_F(CrashedJournalTest, ATransactionThatWasTornOnItsWayIsDropped) {
  for (const std::size_t torn : {1U, 100U, 4000U}) {
    fs::resize_file(Wal(), bytes_ - torn);
    EXPECT_TRUE(CheckWal(Wal()).ok()) << torn;
  }
  const auto jobs = Jobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status().ToString();
  EXPECT_EQ(*jobs, std::size_t{kJobs - 1});
}

TEST_F(CrashedJournalTest, AChangedBitBeforeTheLastTransactionIsRefused) {
  for (std::size_t at = 24; at < bytes_ - 3 * 4096; at += 1009) {
    Flip(at);
    const auto jobs = Jobs();
    const bool of_another_log = at < 32 || (at - 32) % (4096 + 24) < 24;
    if (!of_another_log) {
      EXPECT_EQ(jobs.status().code(), Code::kDataLoss) << "byte " << at;
      EXPECT_THAT(jobs.status().message(),
                  AllOf(HasSubstr("journal.db-wal"), HasSubstr("move it")));
    }
    if (jobs.ok()) break;  // the log is SQLite's again
    Flip(at);
  }
}

TEST_F(CrashedJournalTest, WhatIsNoLogIsSQLitesMatter) {
  EXPECT_TRUE(CheckWal(root_ + "/nothing").ok());
  fs::resize_file(Wal(), 20);
  EXPECT_TRUE(CheckWal(Wal()).ok());
}

}  // namespace
}  // namespace headrace::coordinator
