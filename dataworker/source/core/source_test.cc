// One contract, run over every source.
#include "dataworker/source/core/source.h"

#include <memory>
#include <string>

#include "dataworker/source/core/source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

constexpr std::int64_t kRows = 5;

struct Files {
  TemporaryDirectory directory;
  BlobMap blobs;
  SourceLeaf leaf;
  Files() {
    wire::FileTable table{.root = directory.path(), .paths = {}, .labels = {}};
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::string name = "sample" + std::to_string(row);
      directory.Write(name, "4 " + std::to_string(row + 1) + "\n" + std::string(100, 'x'));
      table.paths.push_back(name);
      table.labels.push_back(row * 10);
    }
    leaf = {.source = "local_dir",
            .rows = kRows,
            .table = blobs.Add(wire::EncodeFileTable(table)),
            .arrays = {}};
  }
};

struct ImageArrays {
  BlobMap blobs;
  SourceLeaf leaf;
  ImageArrays() {
    Bytes labels(kRows * 8);
    for (std::int64_t row = 0; row < kRows; ++row)
      labels[static_cast<std::size_t>(row) * 8] = static_cast<std::byte>(row * 10);
    leaf = {.source = "arrays",
            .rows = kRows,
            .table = {},
            .arrays = {{.blob = blobs.Add(Bytes(kRows * 4 * 6 * 3)),
                        .dtype = DType::kU8,
                        .row_shape = {4, 6, 3}},
                       {.blob = blobs.Add(labels), .dtype = DType::kI64, .row_shape = {}}}};
  }
};

template <typename Kind>
class SourceContract : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = BuiltinSources().Make(kind_.leaf, {kind_.blobs.lookup(), ReadTextHeader});
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    source_ = std::move(made).value();
  }
  Kind kind_;
  std::unique_ptr<Source> source_;
  ScratchBuffer buffer_;
};
using Kinds = ::testing::Types<Files, ImageArrays>;
TYPED_TEST_SUITE(SourceContract, Kinds);

TYPED_TEST(SourceContract, RowsOutsideAreInvalidEverywhere) {
  EXPECT_EQ(this->source_->rows(), kRows);
  std::byte label[8];
  for (const std::int64_t row : {std::int64_t{-1}, kRows, std::int64_t{1} << 62}) {
    EXPECT_EQ(this->source_->Identify(row).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(this->source_->Read(row, this->buffer_).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(this->source_->Describe(row, this->buffer_).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(this->source_->CopyColumn(1, row, label).code(), Code::kInvalidArgument);
  }
}

TYPED_TEST(SourceContract, DescribeNeedsNoReadAndEveryRowCanBeRead) {
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto described = this->source_->Describe(row, this->buffer_);
    ASSERT_TRUE(described.ok()) << described.status().ToString();
    EXPECT_EQ(described->dims[0], 4);
    const auto sample = this->source_->Read(row, this->buffer_);
    ASSERT_TRUE(sample.ok()) << sample.status().ToString();
    EXPECT_FALSE(sample->bytes.empty());
    if (!sample->encoded) {
      EXPECT_EQ(sample->bytes.size(), sample->row.bytes());
      EXPECT_EQ(sample->row, *described);
    }
  }
}

TYPED_TEST(SourceContract, ReadHasTheIdentityThatIdentifySays) {
  if (!this->source_->cacheable()) GTEST_SKIP() << "this source has no identities";
  for (std::int64_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(this->source_->Read(row, this->buffer_)->content, *this->source_->Identify(row));
  }
  EXPECT_FALSE(*this->source_->Identify(0) == *this->source_->Identify(1));
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
  EXPECT_EQ(
      BuiltinSources().Make(wrong, {this->kind_.blobs.lookup(), ReadTextHeader}).status().code(),
      Code::kInvalidArgument);
  const BlobLookup nothing = [](BlobHash) { return nullptr; };
  EXPECT_EQ(BuiltinSources().Make(this->kind_.leaf, {nothing, ReadTextHeader}).status().code(),
            Code::kNotFound);
}

TYPED_TEST(SourceContract, AnArgumentThatTheSourceDoesNotKnowIsRefused) {
  SourceLeaf wrong = this->kind_.leaf;
  wrong.args["no_such_argument"] = std::int64_t{1};
  const Status status =
      BuiltinSources().Make(wrong, {this->kind_.blobs.lookup(), ReadTextHeader}).status();
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
