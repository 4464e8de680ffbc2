// One contract, run over every source.
#include "dataworker/source/core/source.h"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/file_group.h"
#include "dataworker/source/core/fake_slow_source.h"
#include "dataworker/source/core/source_fixture.h"
#include "dataworker/source/core/source_kinds.h"
#include "dataworker/source/ranges/range_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "remote/http_fixture.h"

namespace headrace::dataworker {
namespace {

struct SlowObjects {
  BlobMap blobs;
  SourceLeaf leaf;
  std::shared_ptr<FakeStore> store;
  SlowObjects() {
    std::vector<FakeStore::Object> objects;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::string text = "4 " + std::to_string(row + 1) + "\n" + std::string(100, 'x');
      objects.push_back({CopyBytes(AsBytes(text)), row * 10});
    }
    const unsigned seed = std::random_device()();
    std::cout << "seed " << seed << "\n";
    store = std::make_shared<FakeStore>(std::move(objects), seed);
    leaf = {.source = "slow", .rows = kRows, .table = {}, .arrays = {}};
  }
};

// Objects behind HTTP, of a server of the test.
struct RemoteObjects {
  BlobMap blobs;
  SourceLeaf leaf;
  remote::FakeHttp server{[](const remote::FakeHttp::Query& query) {
    const int row = query.target.back() - '0';
    return remote::ReplyWith(query, "4 " + std::to_string(row + 1) + "\n" + std::string(100, 'x'),
                             "\"etag\"");
  }};
  remote::ObjectClient client{remote::OptionsFor(server)};
  RemoteObjects() {
    const std::string base = server.url() + "/data/";
    wire::FileTable table{.root = base, .paths = {}, .labels = {}};
    for (std::int64_t row = 0; row < kRows; ++row) {
      table.paths.push_back("sample" + std::to_string(row));
      table.labels.push_back(row * 10);
    }
    leaf = {.source = "objects",
            .args = {{"base", base}},
            .rows = kRows,
            .table = blobs.Add(wire::EncodeFileTable(table)),
            .arrays = {}};
  }
};

// Ranges of two shards.
std::string ShardOfRows(std::int64_t first, std::int64_t end, std::vector<ShardRow>& rows) {
  std::string bytes;
  for (std::int64_t row = first; row < end; ++row) {
    const std::string text = "4 " + std::to_string(row + 1) + "\n" + std::string(100, 'x');
    bytes += "between";
    rows.push_back({bytes.size(), static_cast<std::uint32_t>(text.size()), row * 10});
    bytes += text;
  }
  return bytes;
}

struct RangesOfFiles {
  TemporaryDirectory directory;
  BlobMap blobs;
  SourceLeaf leaf;
  RangesOfFiles() {
    std::vector<TestShard> shards = {{"a.tar", "", {}}, {"b.tar", "", {}}};
    directory.Write("a.tar", ShardOfRows(0, 3, shards[0].rows));
    directory.Write("b.tar", ShardOfRows(3, kRows, shards[1].rows));
    leaf = {.source = "file_ranges",
            .rows = kRows,
            .table = blobs.Add(RangeTableOf(directory.path(), shards)),
            .arrays = {}};
  }
};

struct RangesOfFilesElsewhere : RangesOfFiles {};

struct RangesOfObjects {
  BlobMap blobs;
  SourceLeaf leaf;
  std::vector<TestShard> shards = {{"a.tar", "\"etag\"", {}}, {"b.tar", "\"etag\"", {}}};
  const std::string a = ShardOfRows(0, 3, shards[0].rows);
  const std::string b = ShardOfRows(3, kRows, shards[1].rows);
  remote::FakeHttp server{[this](const remote::FakeHttp::Query& query) {
    return remote::ReplyWith(query, query.target.ends_with("a.tar") ? a : b, "\"etag\"");
  }};
  remote::ObjectClient client{remote::OptionsFor(server)};
  RangesOfObjects() {
    const std::string base = server.url() + "/data/";
    leaf = {.source = "object_ranges",
            .args = {{"base", base}},
            .rows = kRows,
            .table = blobs.Add(RangeTableOf(base, shards)),
            .arrays = {}};
  }
};

struct RowsOfFilesElsewhere : RowsOfFiles {};

template <typename Kind>
class SourceContract : public ::testing::Test {
 protected:
  static constexpr bool kSlow = std::is_same_v<Kind, SlowObjects>;

  void SetUp() override {
    if constexpr (kSlow) {
      registry_.Add(
          "slow",
          [this](const SourceLeaf& leaf,
                 const SourceRegistry::Environment& env) -> Result<std::unique_ptr<Source>> {
            HR_RETURN_IF_ERROR(CheckNoArgs(leaf));
            return kind_.store->Open(env.read_header);
          });
    }
    auto made = Make(kind_.leaf, kind_.blobs.lookup());
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    source_ = std::move(made).value();
  }
  Result<std::unique_ptr<Source>> Make(const SourceLeaf& leaf, const BlobLookup& lookup) {
    SourceRegistry::Environment environment{lookup, ReadTextHeader, {}, &TestIo(), nullptr};
    if constexpr (requires { kind_.client; }) environment.objects = &kind_.client;
    return registry_.Make(leaf, environment);
  }
  // Lets a slow source answer.
  void Pump(const Answers& answers) {
    if constexpr (kSlow) {
      while (!answers.all() && kind_.store->AnswerOne()) {
      }
    }
  }
  RowAnswer Later(Ask ask, std::int64_t row) {
    const Answers answers(*source_, ask, {row});
    Pump(answers);
    return answers.Wait(0);
  }
  RowAnswer Get(Ask ask, std::int64_t row) {
    if constexpr (!std::is_same_v<Kind, FilesElsewhere> &&
                  !std::is_same_v<Kind, RangesOfFilesElsewhere> &&
                  !std::is_same_v<Kind, RowsOfFilesElsewhere>) {
      if (auto now = source_->Now(ask, row, buffer_)) return *now;
    }
    return Later(ask, row);
  }
  // Of the files that a sample's bytes hold.
  std::size_t FileBytes(ByteSpan bytes) {
    if (source_->files() == 1) return bytes.size();
    const Result<FileGroup> group = FileGroup::Open(bytes);
    EXPECT_TRUE(group.ok() && static_cast<int>(group->size()) == source_->files());
    std::size_t sum = 0;
    for (std::size_t i = 0; group.ok() && i < group->size(); ++i) sum += (*group)[i].size();
    return sum;
  }
  Kind kind_;
  SourceRegistry registry_ = BuiltinSources();
  std::unique_ptr<Source> source_;
  ScratchBuffer buffer_;
};
using Kinds = ::testing::Types<Files, FilesElsewhere, PairsOfFiles, ImageArrays, SlowObjects,
                               RemoteObjects, RangesOfFiles, RangesOfFilesElsewhere,
                               RangesOfObjects, RowsOfFiles, RowsOfFilesElsewhere>;
TYPED_TEST_SUITE(SourceContract, Kinds);

constexpr Ask kAll[] = {Ask::kIdentity, Ask::kSpec, Ask::kBytes, Ask::kWitness, Ask::kWholeWitness};

TYPED_TEST(SourceContract, RowsOutsideAreInvalidEverywhere) {
  EXPECT_EQ(this->source_->rows(), kRows);
  std::byte label[8];
  for (const std::int64_t row : {std::int64_t{-1}, kRows, std::int64_t{1} << 62}) {
    for (const Ask ask : kAll) {
      EXPECT_EQ(this->Get(ask, row).status.code(), Code::kInvalidArgument);
      EXPECT_EQ(this->Later(ask, row).status.code(), Code::kInvalidArgument);
    }
    EXPECT_EQ(this->source_->CopyColumn(1, row, label).code(), Code::kInvalidArgument);
  }
}

TYPED_TEST(SourceContract, ASpecNeedsNoBytesAndEveryRowCanBeRead) {
  for (std::int64_t row = 0; row < kRows; ++row) {
    const RowAnswer described = this->Get(Ask::kSpec, row);
    ASSERT_TRUE(described.status.ok()) << described.status.ToString();
    EXPECT_EQ(described.spec.dims[0], 4);
    const RowAnswer read = this->Get(Ask::kBytes, row);
    ASSERT_TRUE(read.status.ok()) << read.status.ToString();
    EXPECT_FALSE(read.sample.bytes.empty());
    constexpr bool kInMemory = std::is_same_v<TypeParam, ImageArrays>;
    EXPECT_EQ(read.bytes_read, kInMemory ? 0 : this->FileBytes(read.sample.bytes));
    if (!read.sample.encoded) {
      EXPECT_EQ(read.sample.bytes.size(), read.sample.row.bytes());
      EXPECT_EQ(read.sample.row, described.spec);
    }
  }
}

TYPED_TEST(SourceContract, BytesHaveTheIdentityThatWasAskedFor) {
  if (!this->source_->cacheable()) GTEST_SKIP() << "this source has no identities";
  for (std::int64_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(this->Get(Ask::kBytes, row).sample.content,
              this->Get(Ask::kIdentity, row).sample.content);
  }
  const ContentIdentity first = this->Get(Ask::kIdentity, 0).sample.content;
  EXPECT_EQ(first.holds_everywhere(), (std::is_same_v<TypeParam, SlowObjects>));
  EXPECT_FALSE(first == this->Get(Ask::kIdentity, 1).sample.content);
}

TYPED_TEST(SourceContract, EachRowOfAFetchIsAnsweredOnceWithItsOwn) {
  const std::vector<std::int64_t> rows = {3, 0, 0, 99, 4, -1};
  for (const Ask ask : {Ask::kIdentity, Ask::kSpec, Ask::kBytes}) {
    const Answers answers(*this->source_, ask, rows);
    this->Pump(answers);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const RowAnswer answer = answers.Wait(i);
      if (rows[i] < 0 || rows[i] >= kRows) {
        EXPECT_EQ(answer.status.code(), Code::kInvalidArgument);
        continue;
      }
      ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
      const RowAnswer alone = this->Get(ask, rows[i]);
      EXPECT_EQ(answer.sample.content, alone.sample.content);
      EXPECT_EQ(answer.spec, alone.spec);
      EXPECT_TRUE(std::ranges::equal(answer.sample.bytes, alone.sample.bytes));
    }
  }
}

TYPED_TEST(SourceContract, BytesStayWhileTheyAreHeldWhateverElseIsAsked) {
  const Answers answers(*this->source_, Ask::kBytes, {0, 1, 2, 3, 4});
  this->Pump(answers);
  std::vector<RowAnswer> held;
  std::vector<Bytes> copies;
  for (std::size_t i = 0; i < 5; ++i) {
    held.push_back(answers.Wait(i));
    copies.push_back(CopyBytes(held.back().sample.bytes));
  }
  for (std::int64_t row = 0; row < kRows; ++row) (void)this->Later(Ask::kBytes, row);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(std::ranges::equal(held[i].sample.bytes, copies[i]));
    if (!held[i].sample.encoded) continue;
    volatile std::byte slack{};  // for the address sanitizer
    for (std::size_t at = 0; at < ScratchBuffer::kSlack; ++at) {
      slack = held[i].sample.bytes.data()[held[i].sample.bytes.size() + at];
    }
    (void)slack;
  }
}

TYPED_TEST(SourceContract, StopAnswersWhatIsOpenAndWhatComesLater) {
  const Answers open(*this->source_, Ask::kBytes, {0, 1, 2});
  this->source_->Stop();
  const Answers later(*this->source_, Ask::kBytes, {3, 4});
  for (std::size_t i = 0; i < 3; ++i) {
    const RowAnswer answer = open.Wait(i);
    EXPECT_TRUE(answer.status.ok() || answer.status.code() == Code::kUnavailable);
  }
  for (std::size_t i = 0; i < 2; ++i) (void)later.Wait(i);
  this->source_->Stop();
}

TYPED_TEST(SourceContract, ManyThreadsMayAskAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> left = 4;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, &left] {
      ScratchBuffer own;
      for (int times = 0; times < 25; ++times) {
        for (std::int64_t row = 0; row < kRows; ++row) {
          (void)this->source_->Now(Ask::kBytes, row, own);
          const Answers answers(*this->source_, Ask::kBytes, {row});
          const RowAnswer read = answers.Wait(0);
          EXPECT_TRUE(read.status.ok()) << read.status.ToString();
        }
      }
      --left;
    });
  }
  if constexpr (TestFixture::kSlow) {
    while (left > 0) {
      if (!this->kind_.store->AnswerOne()) std::this_thread::yield();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

TYPED_TEST(SourceContract, LabelColumnHoldsOneInt64ARow) {
  const Source::Column* column = this->source_->column(1);
  ASSERT_NE(column, nullptr);
  EXPECT_EQ(column->dtype, DType::kI64);
  EXPECT_EQ(column->row_bytes, 8U);
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::int64_t label = -1;
    ASSERT_TRUE(
        this->source_->CopyColumn(1, row, std::as_writable_bytes(std::span(&label, 1))).ok());
    EXPECT_EQ(label, row * 10);
  }
  EXPECT_EQ(this->source_->column(-1), nullptr);
  EXPECT_EQ(this->source_->column(2), nullptr);
}

TYPED_TEST(SourceContract, APlanThatContradictsItsContentIsRefused) {
  SourceLeaf wrong = this->kind_.leaf;
  ++wrong.rows;
  EXPECT_EQ(this->Make(wrong, this->kind_.blobs.lookup()).status().code(), Code::kInvalidArgument);
  if (TestFixture::kSlow) return;  // it has no blobs
  const BlobLookup nothing = [](BlobHash) { return nullptr; };
  EXPECT_EQ(this->Make(this->kind_.leaf, nothing).status().code(), Code::kNotFound);
}

TYPED_TEST(SourceContract, AnArgumentThatTheSourceDoesNotKnowIsRefused) {
  SourceLeaf wrong = this->kind_.leaf;
  wrong.args["no_such_argument"] = std::int64_t{1};
  const Status status = this->Make(wrong, this->kind_.blobs.lookup()).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("no_such_argument"));
}

TEST(SourceRegistry, ASourceOfANewerPeerIsUnsupported) {
  SourceLeaf leaf;
  leaf.source = "no_such_source";
  const Status status = BuiltinSources().Make(leaf, {}).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("no_such_source"));
}

}  // namespace
}  // namespace headrace::dataworker
