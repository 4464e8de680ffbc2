#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/hash.h"
#include "dataworker/cache/disk/record.h"

// A list of records and a record's header, as a damaged disk leaves them. What is accepted is the same
// after it is written and read again, and lies within its file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace::dataworker;
  constexpr std::uint64_t kSegment = 1 << 20;
  const headrace::ByteSpan bytes = std::as_bytes(std::span(data, size));
  if (const auto record = DecodeRecordHeader(bytes); record.ok()) {
    if (!DecodeRecordHeader(EncodeRecordHeader(*record)).ok()) std::abort();
  }
  if (DecodeSegmentList(bytes, kSegment).ok() || size < sizeof(std::uint64_t)) return 0;
  // With the hash that belongs to it, which no change of bytes would hit.
  headrace::Bytes hashed = headrace::CopyBytes(bytes.first(size / 8 * 8));
  const headrace::ByteSpan before = headrace::ByteSpan(hashed).first(hashed.size() - 8);
  const std::uint64_t hash = headrace::HashBytes(before);
  std::memcpy(hashed.data() + before.size(), &hash, sizeof(hash));
  const auto list = DecodeSegmentList(hashed, kSegment);
  if (!list.ok()) return 0;
  for (const PlacedRecord& placed : list->records) {
    if (placed.end() > kSegment) std::abort();
  }
  if (EncodeSegmentList(*list) != hashed) std::abort();
  return 0;
}
