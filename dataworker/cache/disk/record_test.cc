#include "dataworker/cache/disk/record.h"

#include <random>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

Record ARecord(std::uint64_t number) {
  return {.key = {.content = {.place = {number, 2}, .version = {3, 4, 5}}, .form = {6, 9}},
          .bytes = 100 + number,
          .hash = 8,
          .cost_ns = 10,
          .mark = {11, 12, 13, number}};
}

bool Same(const Record& a, const Record& b) {
  return a.key.content == b.key.content && a.key.form == b.key.form && a.bytes == b.bytes &&
         a.hash == b.hash && a.cost_ns == b.cost_ns && a.mark == b.mark;
}

SegmentList AList() {
  SegmentList list;
  for (std::uint64_t number = 0; number < 5; ++number) {
    list.records.push_back({ARecord(number), list.end});
    list.end = list.records.back().end();
  }
  return list;
}

TEST(RecordTest, AHeaderIsReadAsItWasWritten) {
  const auto read = DecodeRecordHeader(EncodeRecordHeader(ARecord(1)));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(Same(*read, ARecord(1)));
}

TEST(RecordTest, EveryChangedBitOfAHeaderIsSeen) {
  const auto header = EncodeRecordHeader(ARecord(1));
  for (std::size_t byte = 0; byte < kRecordHeaderBytes; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = header;
      changed[byte] ^= std::byte{1} << bit;
      ASSERT_EQ(DecodeRecordHeader(changed).status().code(), Code::kDataLoss) << byte;
    }
  }
  EXPECT_FALSE(DecodeRecordHeader(ByteSpan(header).first(kRecordHeaderBytes - 1)).ok());
}

TEST(RecordTest, AListIsReadAsItWasWritten) {
  const SegmentList list = AList();
  const auto read = DecodeSegmentList(EncodeSegmentList(list), list.end);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->end, list.end);
  ASSERT_EQ(read->records.size(), list.records.size());
  for (std::size_t i = 0; i < list.records.size(); ++i) {
    EXPECT_TRUE(Same(read->records[i].record, list.records[i].record));
    EXPECT_EQ(read->records[i].offset, list.records[i].offset);
  }
}

TEST(RecordTest, ChangedListsAreRefused) {
  const SegmentList list = AList();
  const Bytes bytes = EncodeSegmentList(list);
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    Bytes changed = bytes;
    changed[byte] ^= std::byte{1};
    ASSERT_FALSE(DecodeSegmentList(changed, list.end).ok()) << byte;
    ASSERT_FALSE(DecodeSegmentList(ByteSpan(bytes).first(byte), list.end).ok()) << byte;
  }
}

TEST(RecordTest, RecordsOutsideOfTheirFileOrOverEachOtherAreRefused) {
  const auto refused = [](const auto& change) {
    SegmentList list = AList();
    change(list);
    return !DecodeSegmentList(EncodeSegmentList(list), AList().end).ok();
  };
  EXPECT_FALSE(refused([](SegmentList&) {}));
  EXPECT_TRUE(refused([](SegmentList& list) { list.end += 64; }));
  EXPECT_TRUE(refused([](SegmentList& list) { list.end -= 64; }));
  EXPECT_TRUE(refused([](SegmentList& list) { list.records[4].record.bytes = ~0ULL; }));
  EXPECT_TRUE(refused([](SegmentList& list) { list.records[4].offset = ~0ULL - 63; }));
  EXPECT_TRUE(refused([](SegmentList& list) { list.records[2].offset += 8; }));
  EXPECT_TRUE(refused([](SegmentList& list) { list.records[2].offset = list.records[1].offset; }));
}

}  // namespace
}  // namespace headrace::dataworker
