// What a crash leaves of the journal, and what a disk changes in it.
#include "coordinator/state/wal_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// A power cut may write a transaction's later pages and not its first. What is left of a long one then
// lies after what the next coordinator writes; the next cut must not make a damaged log of both.
TEST_F(CrashedJournalTest, TwoPowerCutsLoseTheirOwnTransactionsAlone) {
  const auto append = [](Journal& journal, int id, std::size_t name_bytes) {
    AddJob job;
    job.job = JobId(id);
    job.consumer = ConsumerId(id);
    job.token = "token-of-" + std::to_string(id);
    job.name = std::string(name_bytes, 'n');
    std::promise<void> durable;
    journal.Append({job}, [&] { durable.set_value(); });
    durable.get_future().wait();
  };
  const auto log_of = [](const std::string& directory) {
    std::ifstream stream(directory + "/journal.db-wal", std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), {}};
  };
  // Appends a job, and leaves in `to` what a cut leaves that its first page did not survive.
  const auto append_and_cut = [&](Journal& journal, int id, std::size_t name_bytes,
                                  const std::string& from, const std::string& to) {
    const std::string before = log_of(from);
    append(journal, id, name_bytes);
    std::string after = log_of(from);
    const auto changed = std::ranges::mismatch(before, after).in2 - after.begin();
    ASSERT_LT(changed + 200, std::ssize(after));
    after[static_cast<std::size_t>(changed) + 200] ^= 4;
    fs::create_directory(to);
    fs::copy_file(from + "/journal.db", to + "/journal.db");
    std::ofstream(to + "/journal.db-wal", std::ios::binary) << after;
  };
  const std::string first = root_ + "/first", second = root_ + "/second", third = root_ + "/third";
  {
    auto opened = Journal::Open(first, {});
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    append(*opened->journal, 1, 10);
    append_and_cut(*opened->journal, 2, 60'000, first, second);
  }
  {
    auto opened = Journal::Open(second, {});
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    EXPECT_EQ(opened->state.jobs().size(), 1U);
    append(*opened->journal, 3, 10);
    append_and_cut(*opened->journal, 4, 9'000, second, third);
  }
  const auto opened = Journal::Open(third, {});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(opened->state.jobs().size(), 2U);
}

TEST_F(CrashedJournalTest, WhatIsNoLogIsSQLitesMatter) {
  EXPECT_TRUE(CheckWal(root_ + "/nothing").ok());
  fs::resize_file(Wal(), 20);
  EXPECT_TRUE(CheckWal(Wal()).ok());
}

}  // namespace
}  // namespace headrace::coordinator
