// Workers of one host find each other's leaves, over real sockets.
#include <algorithm>

#include "dataworker/session/leaf_neighbours_fixture.h"

namespace headrace::dataworker::neighbour_tests {
namespace {

TEST_F(LeafNeighboursTest, WhatOneKeepsIsFoundByTheOthersAfterTheirOwnAndIsTheVeryMemory) {
  TestHalf &a = Add("w1"), &b = Add("w2");
  a.Keep({5, 9}, 3);
  b.Keep({9}, 4);
  const auto rows = b.Rows();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0][0], 5U);
  EXPECT_EQ(rows[1][0], 9U);
  EXPECT_EQ(LeafShelf::PlaceOf(rows[1][8]).neighbour, 0U) << "its own comes first";
  EXPECT_NE(LeafShelf::PlaceOf(rows[2][8]).neighbour, 0U);
  const auto segment = b.Segment(rows[0][8]);
  ASSERT_TRUE(segment.ok());
  EXPECT_TRUE(std::ranges::equal(ByteSpan(ReadAll(segment->descriptor, 8192)), Pixels(8192, 3)));
  EXPECT_LT(::pwrite(segment->descriptor.get(), "x", 1, 0), 0) << "sealed";
  EXPECT_EQ(a.Rows().size(), 3U) << "both ways";
}

TEST_F(LeafNeighboursTest, NobodyIsToldOfWhatAThirdOneKeeps) {
  TestHalf &a = Add("w1"), &b = Add("w2");
  a.Keep({5});
  ASSERT_EQ(b.Rows().size(), 1U);
  const auto of_b = b.shelf->IndexForNeighbours(0, SteadyTime());
  ASSERT_TRUE(of_b.ok());
  EXPECT_EQ(of_b->file.bytes, 0U);
}

TEST_F(LeafNeighboursTest, WhatCountsIsTheQuotaOfWhoHasIt) {
  TestHalf &a = Add("w1"), &b = Add("w2");
  a.Keep({5});
  const auto rows = b.Rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(b.store->Stats().bytes, 0U);
  const auto before = b.Segment(rows[0][8]);
  ASSERT_TRUE(before.ok());
  RunOn(*reactor_, [&] { a.store->SetQuota(kJobOfLane, StoreQuota{}); });
  EXPECT_EQ(b.Segment(rows[0][8]).status().code(), Code::kNotFound);
  EXPECT_TRUE(b.Rows().empty());
  EXPECT_EQ(ReadAll(before->descriptor, 64), CopyBytes(ByteSpan(Pixels(64, 0))));
}

// The job of a neighbour's lane is none of this store's: as its user it would take away what protects the segment.
TEST_F(LeafNeighboursTest, WhatANeighbourUsesIsGivenUpNoSooner) {
  TestHalf& a = Add("w1");
  a.Keep({5}, 1);
  a.Keep({6}, 2);
  TestHalf& b = Add("w2");
  const auto rows = b.Rows();
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_TRUE(b.Segment(rows[1][8]).ok());
  RunOn(*reactor_, [&] { a.store->SetQuota(kJobOfLane, StoreQuota{.bytes = 12'000}); });
  const auto left = a.RowsNow();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0][0], 6U) << "the older one goes, as without neighbours";
}

TEST_F(LeafNeighboursTest, WhatDidNotChangeIsNotToldAgain) {
  TestHalf &a = Add("w1"), &b = Add("w2");
  a.Keep({5});
  ASSERT_EQ(b.Rows().size(), 1U);
  const std::uint64_t version = b.neighbours.version();
  ASSERT_EQ(b.Rows().size(), 1U);
  EXPECT_EQ(b.neighbours.version(), version);
  a.Keep({6});
  EXPECT_EQ(b.Rows().size(), 2U);
  EXPECT_GT(b.neighbours.version(), version);
}

TEST_F(LeafNeighboursTest, OneThatHasEndedIsForgottenAndANewOneIsFound) {
  TestHalf &a = Add("w1"), &b = Add("w2");
  a.Keep({5});
  const auto rows = b.Rows();
  ASSERT_EQ(rows.size(), 1U);
  End(a);
  EXPECT_TRUE(b.Rows().empty());
  EXPECT_EQ(b.Segment(rows[0][8]).status().code(), Code::kNotFound);
  TestHalf& c = Add("w1");
  c.Keep({6});
  Advance(Neighbours::kLookEvery);
  const auto again = b.Rows();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0][0], 6U);
  EXPECT_NE(again[0][8], rows[0][8]) << "a lane that has mapped the former is told of another";
}

TEST_F(LeafNeighboursTest, AnotherCoordinatorsWorkerIsNone) {
  TestHalf &a = Add("w1"), &b = Add("w2", "tcp://of.another.tenant:7070");
  a.Keep({5});
  b.Keep({6});
  ASSERT_EQ(b.Rows().size(), 1U);
  EXPECT_EQ(b.RowsNow()[0][0], 6U);
  ASSERT_EQ(a.Rows().size(), 1U);
  EXPECT_EQ(a.RowsNow()[0][0], 5U);
}

TEST_F(LeafNeighboursTest, AnUnknownHostHasNone) {
  wire::HostIdentity unknown = kThisHost;
  unknown.boot_id.clear();
  TestHalf& a = Add("w1");
  RunOn(*reactor_, [&] {
    EXPECT_EQ(JoinNeighbours(*reactor_, folder_ + "/w3", unknown, "", *a.shelf, a.neighbours),
              nullptr);
  });
}

}  // namespace
}  // namespace headrace::dataworker::neighbour_tests
