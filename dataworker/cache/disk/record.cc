#include "dataworker/cache/disk/record.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string>

#include "base/hash.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kRecordMagic = 0x33304345'52434852;  // "RHCREC03"
constexpr std::uint64_t kListMagic = 0x33305453'4c434852;    // "RHCLST03"
constexpr std::size_t kRecordWords = 15;  // place, version, form, bytes, hash, cost, mark, offset

static_assert(std::endian::native == std::endian::little);

std::uint64_t WordAt(ByteSpan bytes, std::size_t word) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + word * sizeof(value), sizeof(value));
  return value;
}
void PutWords(MutableByteSpan bytes, std::span<const std::uint64_t> words) {
  std::memcpy(bytes.data(), words.data(), words.size_bytes());
}

// The words of a record without its offset.
std::array<std::uint64_t, kRecordWords - 1> WordsOf(const Record& record) {
  const ContentIdentity& content = record.key.content;
  return {content.place[0],   content.place[1],   content.version[0], content.version[1],
          content.version[2], record.key.form[0], record.key.form[1], record.bytes,
          record.hash,        record.cost_ns,     record.mark[0],     record.mark[1],
          record.mark[2],     record.mark[3]};
}
Record RecordOf(ByteSpan words) {
  Record record;
  ContentIdentity& content = record.key.content;
  content.place = {WordAt(words, 0), WordAt(words, 1)};
  content.version = {WordAt(words, 2), WordAt(words, 3), WordAt(words, 4)};
  record.key.form = {WordAt(words, 5), WordAt(words, 6)};
  record.bytes = WordAt(words, 7);
  record.hash = WordAt(words, 8);
  record.cost_ns = WordAt(words, 9);
  record.mark = {WordAt(words, 10), WordAt(words, 11), WordAt(words, 12), WordAt(words, 13)};
  return record;
}

}  // namespace

std::array<std::byte, kRecordHeaderBytes> EncodeRecordHeader(const Record& record) {
  std::array<std::byte, kRecordHeaderBytes> header{};
  const auto of_record = WordsOf(record);
  std::array<std::uint64_t, kRecordWords + 1> words{kRecordMagic};
  std::ranges::copy(of_record, words.begin() + 1);
  words.back() = HashBytes(std::as_bytes(std::span(words).first(kRecordWords)));
  PutWords(header, words);
  return header;
}

Result<Record> DecodeRecordHeader(ByteSpan header) {
  if (header.size() < kRecordHeaderBytes || WordAt(header, 0) != kRecordMagic) {
    return DataLoss("no record");
  }
  constexpr std::size_t kHashed = kRecordWords * sizeof(std::uint64_t);
  if (WordAt(header, kRecordWords) != HashBytes(header.first(kHashed))) {
    return DataLoss("a damaged record");
  }
  return RecordOf(header.subspan(sizeof(std::uint64_t)));
}

Bytes EncodeSegmentList(const SegmentList& list) {
  std::vector<std::uint64_t> words = {kListMagic, list.end, list.records.size()};
  words.reserve(words.size() + list.records.size() * kRecordWords + 1);
  for (const PlacedRecord& placed : list.records) {
    const auto of_record = WordsOf(placed.record);
    words.insert(words.end(), of_record.begin(), of_record.end());
    words.push_back(placed.offset);
  }
  words.push_back(HashBytes(std::as_bytes(std::span(words))));
  return CopyBytes(std::as_bytes(std::span(words)));
}

Result<SegmentList> DecodeSegmentList(ByteSpan bytes, std::uint64_t size) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (bytes.size() % kWord != 0 || bytes.size() < 4 * kWord || WordAt(bytes, 0) != kListMagic) {
    return DataLoss("no list of records");
  }
  const std::size_t words = bytes.size() / kWord;
  if (WordAt(bytes, words - 1) != HashBytes(bytes.first((words - 1) * kWord))) {
    return DataLoss("a damaged list of records");
  }
  SegmentList list{.end = WordAt(bytes, 1), .records = {}};
  if (WordAt(bytes, 2) != (words - 4) / kRecordWords || (words - 4) % kRecordWords != 0) {
    return DataLoss("a list of another length");
  }
  std::uint64_t free_from = 0;
  for (std::size_t word = 3; word + 1 < words; word += kRecordWords) {
    PlacedRecord placed{.record = RecordOf(bytes.subspan(word * kWord)),
                        .offset = WordAt(bytes, word + kRecordWords - 1)};
    if (placed.record.bytes > size || placed.offset < free_from ||
        placed.offset % kRecordAlignment != 0 || placed.offset > size || placed.end() > list.end) {
      return DataLoss("a list with records outside of their file");
    }
    free_from = placed.end();
    list.records.push_back(placed);
  }
  if (list.end > size) return DataLoss("a list of more than its file");
  return list;
}

}  // namespace headrace::dataworker
