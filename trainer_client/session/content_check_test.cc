#include "trainer_client/session/content_check.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "net/test_util.h"

namespace headrace::client {
namespace {

using net::testing::RunOn;
using ::testing::HasSubstr;

class ContentCheckTest : public testing::Test {
 protected:
  static constexpr std::int64_t kRows = 64;

  ContentCheckTest() : reactor_(*net::Reactor::Make("test")) {
    std::filesystem::create_directories(Folder("here"));
    std::filesystem::create_directories(Folder("there"));
    wire::FileTable table{.root = Folder("here"), .paths = {}, .labels = {}};
    for (std::int64_t row = 0; row < kRows; ++row) {
      table.paths.push_back(std::to_string(row));
      table.labels.push_back(0);
      Write("here", row, std::string(20'000, 'a'));
      Write("there", row, std::string(20'000, 'a'));
    }
    auto bytes = std::make_shared<Bytes>(wire::EncodeFileTable(table));
    blobs_ =
        std::make_unique<BlobStore>(std::map<BlobHash, Blob>{{BlobHash(1), Blob{*bytes, bytes}}});
    Plan plan;
    plan.leaves = {{.rows = kRows, .table = BlobHash(1), .arrays = {}}};
    EXPECT_TRUE(reactor_->Start().ok());
    RunOn(*reactor_, [&] {
      check_ =
          std::make_unique<ContentCheck>(reactor_, plan, *blobs_, std::span<const std::int64_t>());
    });
  }
  ~ContentCheckTest() override {
    RunOn(*reactor_, [this] { check_.reset(); });
    reactor_->Stop();
    std::filesystem::remove_all(Folder(""));
  }
  [[nodiscard]] static std::string Folder(const std::string& name) {
    return testing::TempDir() + "/hr_content_" + std::to_string(getpid()) + "/" + name;
  }
  static void Write(const std::string& folder, std::int64_t row, const std::string& content) {
    std::ofstream(Folder(folder) + "/" + std::to_string(row), std::ios::binary) << content;
  }
  wire::BatchRequest Ask(WorkerId worker) {
    wire::BatchRequest request;
    for (std::int64_t key = 0; key < kRows; ++key) request.keys.push_back(key);
    RunOn(*reactor_, [&] { check_->Ask(worker, request); });
    return request;
  }
  // A worker that reads `folder` in the trainer's one's place.
  std::vector<wire::SampleFailure> Check(WorkerId worker, const std::string& folder,
                                         const wire::BatchRequest& request, bool tells = true) {
    ContentCheck::Question question{.worker = worker,
                                    .where = "worker 7 on node3",
                                    .keys = request.keys,
                                    .positions = request.witness};
    const std::set<std::int32_t> whole(request.witness_whole.begin(), request.witness_whole.end());
    for (const std::int32_t position : request.witness) {
      if (!tells) break;
      question.witnesses.push_back(
          {position, *ReadWitness(Folder(folder) + "/" + std::to_string(position),
                                  whole.contains(position))});
    }
    std::promise<std::vector<wire::SampleFailure>> found;
    RunOn(*reactor_, [&] {
      check_->Check(std::move(question), [&](std::vector<wire::SampleFailure> differ) {
        found.set_value(std::move(differ));
      });
    });
    return found.get_future().get();
  }

  std::shared_ptr<net::Reactor> reactor_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<ContentCheck> check_;
};

TEST_F(ContentCheckTest, AFileOfOtherBytesIsNamedAndAskedForAgain) {
  Write("there", 5, "b" + std::string(19'999, 'a'));
  const wire::BatchRequest first = Ask(WorkerId(1));
  EXPECT_EQ(first.witness.size(), std::size_t{kRows}) << "every file, before it counts";
  EXPECT_GT(first.witness_whole.size(), 0U);
  EXPECT_LT(first.witness_whole.size(), std::size_t{kRows} / 4);
  const auto differ = Check(WorkerId(1), "there", first);
  ASSERT_EQ(differ.size(), 1U);
  EXPECT_EQ(differ[0].position, 5);
  EXPECT_EQ(differ[0].code, Code::kUnavailable);
  EXPECT_THAT(differ[0].message, HasSubstr("worker 7 on node3 has not the trainer's file " +
                                           Folder("here") + "/5: its first or last 4096 bytes"));
  RunOn(*reactor_, [this] {
    EXPECT_TRUE(check_->unfit(WorkerId(1)));
    EXPECT_FALSE(check_->unfit(WorkerId(2)));
  });
  const wire::BatchRequest second = Ask(WorkerId(1));
  EXPECT_THAT(second.witness, testing::Contains(5));
  EXPECT_LT(second.witness.size(), 8U) << "what was vouched for is seldom asked for again";
  EXPECT_EQ(Ask(WorkerId(2)).witness.size(), std::size_t{kRows}) << "another one has vouched";
}

TEST_F(ContentCheckTest, BytesInTheMiddleAreSeenInTheShareThatIsReadWhole) {
  const wire::BatchRequest request = Ask(WorkerId(1));
  ASSERT_FALSE(request.witness_whole.empty());
  std::string content(20'000, 'a');
  content[10'000] = 'b';
  for (std::int64_t row = 0; row < kRows; ++row) Write("there", row, content);
  EXPECT_EQ(Check(WorkerId(1), "there", request).size(), request.witness_whole.size());
  EXPECT_EQ(Check(WorkerId(2), "here", Ask(WorkerId(2))).size(), 0U);
}

// A row of two files: both are compared, and named.
TEST_F(ContentCheckTest, EachFileOfARowCounts) {
  Plan plan;
  plan.leaves = {{.source = "file_groups",
                  .args = {{"files", std::int64_t{2}}},
                  .rows = kRows / 2,
                  .table = BlobHash(1),
                  .arrays = {}}};
  RunOn(*reactor_, [&] {
    check_ =
        std::make_unique<ContentCheck>(reactor_, plan, *blobs_, std::span<const std::int64_t>());
  });
  std::string content(20'000, 'a');
  content.back() = 'b';
  Write("there", 7, content);
  const wire::BatchRequest request = Ask(WorkerId(1));
  ASSERT_EQ(request.witness.size(), std::size_t{kRows} / 2);
  ContentCheck::Question question{.worker = WorkerId(1),
                                  .where = "worker 7 on node3",
                                  .keys = request.keys,
                                  .positions = request.witness};
  for (const std::int32_t position : request.witness) {
    std::vector<FileWitness> files;
    for (const std::int32_t file : {2 * position, 2 * position + 1}) {
      files.push_back(*ReadWitness(Folder("there") + "/" + std::to_string(file), false));
    }
    question.witnesses.push_back({position, JoinWitnesses(files)});
  }
  std::promise<std::vector<wire::SampleFailure>> found;
  RunOn(*reactor_, [&] {
    check_->Check(std::move(question), [&](std::vector<wire::SampleFailure> differ) {
      found.set_value(std::move(differ));
    });
  });
  const auto differ = found.get_future().get();
  ASSERT_EQ(differ.size(), 1U);
  EXPECT_EQ(differ[0].position, 3);
  EXPECT_THAT(differ[0].message, HasSubstr("/here/6 or "));
  EXPECT_THAT(differ[0].message, HasSubstr("/here/7: "));
}

// Samples that are ranges of one shard: each is compared by its own bytes.
TEST_F(ContentCheckTest, ARangeIsComparedByItsOwnBytes) {
  const std::string shard = Folder("here") + "/shard";
  std::string content(30'000, 'a');
  std::ofstream(shard, std::ios::binary) << content;
  const std::uint32_t ends[] = {static_cast<std::uint32_t>(shard.size())}, none[] = {0};
  const std::uint64_t row_ends[] = {3}, firsts[] = {0, 10'000, 20'000};
  const std::uint32_t sizes[] = {10'000, 10'000, 10'000};
  const std::int64_t labels[] = {0, 0, 0};
  const auto bytes = std::make_shared<Bytes>(*wire::EncodeRangeTable({.root = "",
                                                                      .shard_pool = shard,
                                                                      .shard_ends = ends,
                                                                      .version_pool = "",
                                                                      .version_ends = none,
                                                                      .row_ends = row_ends,
                                                                      .firsts = firsts,
                                                                      .sizes = sizes,
                                                                      .labels = labels}));
  const BlobStore blobs(std::map<BlobHash, Blob>{{BlobHash(2), Blob{*bytes, bytes}}});
  Plan plan;
  plan.leaves = {{.source = "file_ranges", .rows = 3, .table = BlobHash(2), .arrays = {}}};
  RunOn(*reactor_, [&] {
    check_ = std::make_unique<ContentCheck>(reactor_, plan, blobs, std::span<const std::int64_t>());
  });
  wire::BatchRequest request;
  request.keys = {0, 1, 2};
  RunOn(*reactor_, [&] { check_->Ask(WorkerId(1), request); });
  EXPECT_EQ(request.witness.size(), 3U);
  content[10'000] = 'b';  // the first byte of row 1
  const std::string other = Folder("there") + "/shard";
  std::ofstream(other, std::ios::binary) << content;
  ContentCheck::Question question{.worker = WorkerId(1),
                                  .where = "worker 7 on node3",
                                  .keys = request.keys,
                                  .positions = request.witness};
  for (const std::int32_t position : request.witness) {
    const FileRange range{firsts[position], sizes[position]};
    question.witnesses.push_back({position, *ReadWitness(other, range, false)});
  }
  std::promise<std::vector<wire::SampleFailure>> found;
  RunOn(*reactor_, [&] {
    check_->Check(std::move(question), [&](std::vector<wire::SampleFailure> differ) {
      found.set_value(std::move(differ));
    });
  });
  const std::vector<wire::SampleFailure> differ = found.get_future().get();
  ASSERT_EQ(differ.size(), 1U);
  EXPECT_EQ(differ[0].position, 1);
  EXPECT_THAT(differ[0].message, HasSubstr("has not the trainer's file " + shard));
  RunOn(*reactor_, [this] { check_.reset(); });  // before the blobs that it looks at
}

TEST_F(ContentCheckTest, ObjectsAmongFilesAreNotAskedFor) {
  Plan plan;
  plan.leaves = {{.source = "objects", .rows = 3, .table = BlobHash(9), .arrays = {}},
                 {.rows = kRows, .table = BlobHash(1), .arrays = {}},
                 {.source = "object_ranges", .rows = 4, .table = BlobHash(9), .arrays = {}}};
  RunOn(*reactor_, [&] {
    ContentCheck mixed(reactor_, plan, *blobs_, std::span<const std::int64_t>());
    wire::BatchRequest request;
    for (std::int64_t key = 0; key < 3 + kRows + 4; ++key) request.keys.push_back(key);
    mixed.Ask(WorkerId(1), request);
    ASSERT_EQ(request.witness.size(), std::size_t{kRows});
    EXPECT_EQ(request.witness.front(), 3);
    EXPECT_EQ(request.witness.back(), 3 + kRows - 1);
    EXPECT_EQ(mixed.PathsOf(3), std::vector<std::string>{Folder("here") + "/0"});
    EXPECT_TRUE(mixed.PathsOf(2).empty());
    EXPECT_TRUE(mixed.PathsOf(3 + kRows).empty());
  });
}

TEST_F(ContentCheckTest, AWorkerThatTellsNothingIsNotBelieved) {
  const auto differ = Check(WorkerId(1), "here", Ask(WorkerId(1)), /*tells=*/false);
  EXPECT_EQ(differ.size(), std::size_t{kRows});
}

}  // namespace
}  // namespace headrace::client
