#include <string>

#include "dataworker/source/core/source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

class Arrays : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Source>> Open(std::int64_t rows, std::size_t bytes, DType dtype,
                                       std::vector<std::int64_t> row_shape) {
    Bytes content(bytes);
    for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>(i);
    SourceLeaf leaf{.source = "arrays",
                    .rows = rows,
                    .table = {},
                    .arrays = {{blobs_.Add(content), dtype, std::move(row_shape)}}};
    return BuiltinSources().Make(leaf, {blobs_.lookup(), ReadTextHeader});
  }
  BlobMap blobs_;
  ScratchBuffer buffer_;
};

TEST_F(Arrays, ARowIsAViewOfItsOwnBytes) {
  const auto source = Open(4, 24, DType::kU8, {2, 3});
  const auto answer = (*source)->Now(Ask::kBytes, 2, buffer_);
  ASSERT_TRUE(answer && answer->status.ok());
  const SourceSample& sample = answer->sample;
  ASSERT_EQ(sample.bytes.size(), 6U);
  EXPECT_EQ(sample.bytes[0], std::byte{12});
  EXPECT_EQ(answer->bytes_read, 0U);  // it came with the plan
  EXPECT_EQ(sample.row, (TensorSpec{DType::kU8, Layout::kPlain, {2, 3}}));
}

TEST_F(Arrays, RowsOfMoreDimensionsThanASampleAreColumnsOnly) {
  const auto source = Open(4, 4 * 5 * 4, DType::kF32, {1, 1, 1, 1, 5, 1});
  EXPECT_EQ((*source)->Now(Ask::kBytes, 0, buffer_)->status.code(), Code::kUnsupported);
  std::byte row[20];
  ASSERT_TRUE((*source)->CopyColumn(0, 3, row).ok());
  EXPECT_EQ(row[0], std::byte{60});
}

TEST_F(Arrays, SizesThatDoNotFitAreRefused) {
  EXPECT_THAT(Open(4, 23, DType::kU8, {2, 3}).status().message(),
              HasSubstr("23 bytes, not 4 rows"));
  EXPECT_EQ(Open(4, 24, DType::kU8, {-2, -3}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Open(-1, 24, DType::kU8, {2, 3}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Open(4, 24, DType::kU8, {std::int64_t{1} << 40, std::int64_t{1} << 40}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Open(std::int64_t{1} << 62, 24, DType::kI64, {8}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Open(4, 24, static_cast<DType>(77), {6}).status().code(), Code::kInvalidArgument);
}

TEST_F(Arrays, RowsWithoutElementsAreLegal) {
  const auto source = Open(4, 0, DType::kF32, {0, 3});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_TRUE((*source)->CopyColumn(0, 1, {}).ok());
}

}  // namespace
}  // namespace headrace::dataworker
