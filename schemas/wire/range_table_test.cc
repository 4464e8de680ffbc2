#include "schemas/wire/range_table.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::wire {
namespace {

using ::testing::HasSubstr;

// Shards a.tar (rows 0 and 1), b.tar (none) and c.tar (row 2).
struct Parts {
  std::string_view shard_pool = "a.tarb.tarc.tar", version_pool = "v1v3";
  std::vector<std::uint32_t> shard_ends = {5, 10, 15}, version_ends = {2, 2, 4};
  std::vector<std::uint64_t> row_ends = {2, 2, 3}, firsts = {512, 2048, std::uint64_t{1} << 40};
  std::vector<std::uint32_t> sizes = {7, 0, 0xffffffff};
  std::vector<std::int64_t> labels = {3, -1, std::int64_t{1} << 40};
  [[nodiscard]] Result<Bytes> Encode() const {
    return EncodeRangeTable({.root = "/data",
                             .shard_pool = shard_pool,
                             .shard_ends = shard_ends,
                             .version_pool = version_pool,
                             .version_ends = version_ends,
                             .row_ends = row_ends,
                             .firsts = firsts,
                             .sizes = sizes,
                             .labels = labels});
  }
};

TEST(RangeTable, RowsComeBackWithTheirShards) {
  const Parts parts;
  const Result<Bytes> bytes = parts.Encode();
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  const Result<RangeTableView> view = RangeTableView::Open(*bytes);
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  ASSERT_EQ(view->size(), 3);
  ASSERT_EQ(view->shards(), 3);
  EXPECT_EQ(view->At(0), (RangeTableView::Range{0, 512, 7}));
  EXPECT_EQ(view->At(1), (RangeTableView::Range{0, 2048, 0}));
  EXPECT_EQ(view->At(2), (RangeTableView::Range{2, std::uint64_t{1} << 40, 0xffffffff}));
  EXPECT_EQ(view->Label(2), std::int64_t{1} << 40);
  EXPECT_EQ(view->Shard(1), "/data/b.tar");
  EXPECT_EQ(view->Version(0), "v1");
  EXPECT_EQ(view->Version(1), "");
  EXPECT_EQ(view->Version(2), "v3");
}

TEST(RangeTable, RowsThatAreMembersOfZipsSaySo) {
  const std::vector<ZipMember> members = {{5, 7, 0xfedcba98}, {0, 0, 0}, {0xffffffff, 9, 1}};
  Parts parts;
  const auto encode = [&](std::size_t count) {
    return EncodeRangeTable({.root = "/data",
                             .shard_pool = parts.shard_pool,
                             .shard_ends = parts.shard_ends,
                             .version_pool = parts.version_pool,
                             .version_ends = parts.version_ends,
                             .row_ends = parts.row_ends,
                             .firsts = parts.firsts,
                             .sizes = parts.sizes,
                             .labels = parts.labels,
                             .members = std::span(members).first(count)});
  };
  const Result<Bytes> bytes = encode(3);
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  const Result<RangeTableView> view = RangeTableView::Open(*bytes);
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  EXPECT_TRUE(view->has_members());
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(view->Member(static_cast<std::int64_t>(row)), members[row]);
  }
  EXPECT_EQ(encode(2).status().code(), Code::kInvalidArgument) << "one for each row, or none";
  const Bytes plain = *encode(0);
  const Result<RangeTableView> without = RangeTableView::Open(plain);
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without->has_members());
  EXPECT_EQ(without->Member(1), std::nullopt);
}

TEST(RangeTable, PartsThatDoNotFitAreRefused) {
  Parts few;
  few.labels.pop_back();
  EXPECT_EQ(few.Encode().status().code(), Code::kInvalidArgument);
  Parts falls;
  falls.row_ends = {2, 1, 3};
  EXPECT_EQ(falls.Encode().status().code(), Code::kInvalidArgument);
  Parts beyond;
  beyond.row_ends = {2, 2, 4};
  EXPECT_EQ(beyond.Encode().status().code(), Code::kInvalidArgument);
  Parts far;
  far.firsts[1] = ~std::uint64_t{0};
  const Bytes bytes = *far.Encode();
  EXPECT_THAT(RangeTableView::Open(bytes).status().message(), HasSubstr("beyond every file"));
}

// Reads all that a view can be asked for, which the address sanitizer watches.
void ReadAll(ByteSpan bytes) {
  const Result<RangeTableView> view = RangeTableView::Open(bytes);
  if (!view.ok()) return;
  for (std::int64_t row = 0; row < view->size(); ++row) {
    const RangeTableView::Range range = view->At(row);
    EXPECT_LE(view->Shard(range.shard).size(), bytes.size());
    EXPECT_LE(view->Version(range.shard).size(), bytes.size());
    (void)view->Label(row);
  }
}

TEST(RangeTable, DamageNeverReadsOutside) {
  const Bytes good = *Parts().Encode();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      Bytes bad = good;
      bad[i] ^= static_cast<std::byte>(flip);
      ReadAll(bad);
    }
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    ReadAll(cut);
  }
}

}  // namespace
}  // namespace headrace::wire
