#include "dataworker/source/ranges/ranges.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "dataworker/source/ranges/range_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

std::vector<RangeRun> Join(const std::vector<ShardRow>& shard, std::vector<std::int64_t> rows) {
  const Bytes bytes = RangeTableOf("/d", {{"a", "", shard}, {"b", "", shard}});
  std::vector<std::size_t> indexes(rows.size());
  std::iota(indexes.begin(), indexes.end(), 0);
  return JoinNeighbours(*wire::RangeTableView::Open(bytes), rows, indexes);
}

TEST(Ranges, NeighboursAreReadTogetherAndOthersAreNot) {
  const std::vector<ShardRow> shard = {
      {512, 1000, 0},                       // row 0
      {2048, 1000, 0},                      // row 1: a header later
      {3048 + kMostGap, 100, 0},            // row 2: at the largest gap
      {3149 + 2 * kMostGap, 100, 0},        // row 3: a byte farther
      {std::uint64_t{1} << 30, 1 << 20, 0}  // row 4: as large as a run
  };
  const auto runs = Join(shard, {4, 3, 2, 1, 0, 5});
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[0].indexes, (std::vector<std::size_t>{4, 3, 2}));
  EXPECT_EQ(runs[0].span, (FileRange{512, 3148 + kMostGap - 512}));
  EXPECT_EQ(runs[1].indexes, (std::vector<std::size_t>{1}));
  EXPECT_EQ(runs[2].indexes, (std::vector<std::size_t>{0}));
  EXPECT_EQ(runs[3].shard, 1) << "the next shard begins anew";
}

TEST(Ranges, ARunIsNoLargerThanARowMayKeep) {
  std::vector<ShardRow> shard;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < 40; ++i) {
    shard.push_back({static_cast<std::uint64_t>(i) * 100'000, 99'000, 0});
    rows.push_back(i);
  }
  const auto runs = Join(shard, rows);
  EXPECT_EQ(runs.size(), 4U);
  for (const RangeRun& run : runs) EXPECT_LE(run.span.size, kMostRun);
}

TEST(Ranges, EveryRowIsInExactlyOneRunThatHoldsIt) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int time = 0; time < 200; ++time) {
    std::vector<ShardRow> shard;
    for (int i = 0; i < 20; ++i) {
      shard.push_back({random() % 4'000'000, static_cast<std::uint32_t>(random() % 300'000), 0});
    }
    std::vector<std::int64_t> rows;
    for (int i = 0; i < 30; ++i) rows.push_back(static_cast<std::int64_t>(random() % 40));
    std::vector<int> seen(rows.size(), 0);
    for (const RangeRun& run : Join(shard, rows)) {
      for (const std::size_t index : run.indexes) {
        ++seen[index];
        const ShardRow& row = shard[static_cast<std::size_t>(rows[index]) % 20];
        EXPECT_EQ(run.shard, rows[index] / 20);
        EXPECT_GE(row.first, run.span.first);
        EXPECT_LE(row.first + row.size, run.span.first + run.span.size);
      }
      EXPECT_TRUE(run.span.size <= kMostRun || run.indexes.size() == 1);
    }
    EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(rows.size()));
  }
}

TEST(Ranges, AnIdentityDiffersWithTheShardItsVersionAndTheRange) {
  const ContentIdentity shard = ContentIdentity::OfText("url", "v1", NameReach::kHost);
  const ContentIdentity base = IdentityOfRange(shard, {1, 2});
  EXPECT_EQ(base, IdentityOfRange(shard, {1, 2}));
  EXPECT_FALSE(base == IdentityOfRange(shard, {1, 3}));
  EXPECT_FALSE(base == IdentityOfRange(shard, {2, 2}));
  EXPECT_FALSE(base ==
               IdentityOfRange(ContentIdentity::OfText("else", "v1", NameReach::kHost), {1, 2}));
  const ContentIdentity newer =
      IdentityOfRange(ContentIdentity::OfText("url", "v2", NameReach::kHost), {1, 2});
  EXPECT_FALSE(base == newer);
  EXPECT_EQ(base.place, newer.place) << "newer content replaces the older";
}

}  // namespace
}  // namespace headrace::dataworker
