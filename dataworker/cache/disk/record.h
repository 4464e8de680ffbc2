#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/result.h"
#include "dataworker/cache/cache_entry.h"

// The bytes of the disk tier's files. All numbers are little-endian. A segment is records one after the
// other, each at a multiple of kRecordAlignment: a header and the payload. Beside it a list of its
// records may lie, so that a start need not look for them. Pure.
namespace headrace::dataworker {

inline constexpr std::size_t kRecordHeaderBytes = 128;
inline constexpr std::size_t kRecordAlignment = 64;

struct Record {
  CacheKey key;
  std::uint64_t bytes = 0;    // of the payload
  std::uint64_t hash = 0;     // of the payload: HashBytes
  std::uint64_t cost_ns = 0;  // what it took to make, or such entries in the mean; 0: not known
  EntryMark mark{};
};
[[nodiscard]] inline std::uint64_t CostWordOf(Duration cost) {
  return static_cast<std::uint64_t>(std::max<Duration::rep>(cost.count(), 0));
}

// A record, and where its header lies in the file.
struct PlacedRecord {
  Record record;
  std::uint64_t offset = 0;
  [[nodiscard]] std::uint64_t end() const {
    const std::uint64_t bytes = kRecordHeaderBytes + record.bytes;
    return offset + (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
  }
};

// The records of the first `end` bytes of a segment, by their offsets.
struct SegmentList {
  std::uint64_t end = 0;
  std::vector<PlacedRecord> records;
};

[[nodiscard]] std::array<std::byte, kRecordHeaderBytes> EncodeRecordHeader(const Record& record);
// kDataLoss: no header, or damaged. The payload is not looked at.
[[nodiscard]] Result<Record> DecodeRecordHeader(ByteSpan header);

[[nodiscard]] Bytes EncodeSegmentList(const SegmentList& list);
// kDataLoss: no list, damaged, or with records outside of a segment of `size` bytes or over each other.
[[nodiscard]] Result<SegmentList> DecodeSegmentList(ByteSpan bytes, std::uint64_t size);

}  // namespace headrace::dataworker
