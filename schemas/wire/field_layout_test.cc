#include "schemas/wire/field_layout.h"

#include <cstdlib>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::wire {
namespace {

using ::testing::ElementsAre;

FieldLayout ListOf(std::vector<std::int64_t> sizes) {
  return {DType::kF32, {static_cast<std::int64_t>(sizes.size()) / 2, -1, -1}, 128, sizes};
}

TEST(FieldLayout, RowsOfAListFollowOneAnotherAligned) {
  const FieldLayout field = ListOf({3, 5, 0, 0, 4, 4, 1, 1});
  ASSERT_TRUE(IsList(field));
  const std::vector<FieldRow> rows = RowsOf(field);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_THAT(rows[0].shape, ElementsAre(3, 5));
  EXPECT_EQ(rows[0].offset, 128U);
  EXPECT_EQ(rows[0].bytes, 60U);
  EXPECT_EQ(rows[1].bytes, 0U) << "a row that was not made";
  EXPECT_EQ(rows[2].offset, 192U);
  EXPECT_EQ(rows[2].bytes, 64U);
  EXPECT_EQ(rows[3].offset, 256U);
  EXPECT_EQ(FieldBytes(field), 128U + 4);
}

TEST(FieldLayout, AStackIsDense) {
  const FieldLayout field{DType::kI16, {4, 3}, 64};
  EXPECT_FALSE(IsList(field));
  EXPECT_EQ(FieldBytes(field), 24U);
  EXPECT_EQ(FieldBytes({DType::kI16, {4, -1}, 64}), std::nullopt);
}

TEST(FieldLayout, SizesThatDoNotFitAreRefused) {
  EXPECT_EQ(FieldBytes(ListOf({3, -1})), std::nullopt);
  EXPECT_EQ(FieldBytes(ListOf({1LL << 62, 1LL << 62})), std::nullopt);
  EXPECT_EQ(FieldBytes(ListOf({1LL << 60, 1, 1LL << 60, 1, 1LL << 60, 1, 1LL << 60, 1})),
            std::nullopt);
  FieldLayout field = ListOf({3, 5, 2, 2});
  field.shape[0] = 3;
  EXPECT_EQ(FieldBytes(field), std::nullopt);
  field.shape = {2, 3, -1};
  EXPECT_EQ(FieldBytes(field), std::nullopt);
  field.shape = {4};
  EXPECT_EQ(FieldBytes(field), std::nullopt);
  field.shape = {};
  EXPECT_EQ(FieldBytes(field), std::nullopt);
  field.shape = {-2, -1, -1};
  EXPECT_EQ(FieldBytes(field), std::nullopt);
  field = ListOf({3, 5});
  field.dtype = static_cast<DType>(99);
  EXPECT_EQ(FieldBytes(field), std::nullopt);
}

// Rows never overlap, and all lie in what FieldBytes says.
TEST(FieldLayout, RowsOfDrawnSizesLieApart) {
  const char* given = std::getenv("HEADRACE_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1234;
  SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> sizes(2 * (1 + random() % 8));
    for (std::int64_t& size : sizes) size = static_cast<std::int64_t>(random() % 40);
    const FieldLayout field = ListOf(sizes);
    std::uint64_t end = field.offset;
    for (const FieldRow& row : RowsOf(field)) {
      EXPECT_EQ(row.offset % kFieldAlignment, 0U);
      EXPECT_GE(row.offset, end);
      EXPECT_LT(row.offset, end + kFieldAlignment);
      end = row.offset + row.bytes;
    }
    EXPECT_EQ(FieldBytes(field), end - field.offset);
  }
}

}  // namespace
}  // namespace headrace::wire
