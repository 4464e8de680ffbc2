// Journals of older releases are read: their records lack fields that came later.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/hash.h"
#include "coordinator/state/journal.h"

namespace headrace::coordinator {
namespace {

// Makes a journal of this version from the records in its golden file, one a line.
void MakeJournal(const std::string& directory, int version) {
  const std::string golden = std::string(HEADRACE_SOURCE_DIR) +
                             "/coordinator/state/golden_journal_v" + std::to_string(version) +
                             ".txt";
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((directory + "/journal.db").c_str(), &db), SQLITE_OK);
  const auto run = [&](const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
  };
  run("CREATE TABLE updates(seq INTEGER PRIMARY KEY, body TEXT NOT NULL, hash INTEGER NOT NULL);"
      "PRAGMA user_version=" +
      std::to_string(version));
  std::ifstream file(golden);
  ASSERT_TRUE(file) << golden;
  std::uint64_t hash = 0;
  int seq = 0;
  for (std::string body; std::getline(file, body);) {
    hash = HashBytes(AsBytes(body), hash);
    run("INSERT INTO updates VALUES(" + std::to_string(++seq) + ", '" + body + "', " +
        std::to_string(static_cast<std::int64_t>(hash)) + ")");
  }
  sqlite3_close(db);
}

class OldJournal : public testing::Test {
 protected:
  OldJournal() { EXPECT_NE(::mkdtemp(directory.data()), nullptr); }
  ~OldJournal() override { std::filesystem::remove_all(directory); }
  std::string directory = testing::TempDir() + "old" + std::string(6, 'X');
};

TEST_F(OldJournal, RecordsOfTheFirstReleaseAreRead) {
  MakeJournal(directory, 1);
  {
    const auto opened = Journal::Open(directory, {});
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    const State& state = opened->state;
    ASSERT_EQ(state.jobs().size(), 1U);
    const Job& job = *state.FindJob(JobId(7));
    EXPECT_EQ(job.spec.name, "train.py");
    EXPECT_EQ(job.spec.tenant, "");
    EXPECT_EQ(job.spec.rank, -1);
    EXPECT_EQ(job.leases, std::set<WorkerId>{WorkerId(3)});
    ASSERT_EQ(job.sessions.size(), 1U);
    EXPECT_EQ(job.sessions.begin()->second.split.tail_node, 0);
    ASSERT_EQ(state.workers().size(), 2U);
    EXPECT_FALSE(state.FindWorker(WorkerId(3))->info.local);
    EXPECT_TRUE(state.FindWorker(WorkerId(4))->draining);
    EXPECT_EQ(state.next_job(), JobId(9));
    EXPECT_EQ(state.next_worker(), WorkerId(6));
    EXPECT_DOUBLE_EQ(state.ended_cpu_seconds(), 12.5);
    EXPECT_TRUE(state.held_back().All().empty());
  }
}

TEST_F(OldJournal, RecordsOfVersionTwoAreRead) {
  MakeJournal(directory, 2);
  const auto opened = Journal::Open(directory, {});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const State& state = opened->state;
  EXPECT_EQ(state.FindWorker(WorkerId(3))->drain_reason, "slow for 2 programs");
  const std::vector<wire::BadSample> want = {{.data_set = ~std::uint64_t{0},
                                              .row = 3,
                                              .name = "/data/large.png",
                                              .cause = "264 MB",
                                              .times = 2,
                                              .held_back = true},
                                             {.data_set = 9, .row = 5, .held_back = true}};
  EXPECT_EQ(state.held_back().All(), want);
}

}  // namespace
}  // namespace headrace::coordinator
