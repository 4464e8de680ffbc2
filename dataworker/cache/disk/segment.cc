#include "dataworker/cache/disk/segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/hash.h"

namespace headrace::dataworker {
namespace {

// The list beside a segment, if it can be read.
std::optional<SegmentList> ReadList(DiskCalls& calls, const std::string& path, std::uint64_t size) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (!fd.valid() || ::fstat(fd.get(), &about) != 0) return std::nullopt;
  // More than a list of the smallest records would take.
  if (static_cast<std::uint64_t>(about.st_size) > size + kRecordHeaderBytes) return std::nullopt;
  Bytes bytes(static_cast<std::size_t>(about.st_size));
  if (calls.Read(fd.get(), 0, bytes) != 0) return std::nullopt;
  Result<SegmentList> list = DecodeSegmentList(bytes, size);
  if (!list.ok()) return std::nullopt;
  return std::move(list).value();
}

}  // namespace

Segment::~Segment() {
  if (keep_ || path_.empty() || !fd_.valid()) return;
  ::unlink(path_.c_str());
  ::unlink(ListPath(path_).c_str());
}

Status Segment::Write(std::uint64_t offset, const Record& record, ByteSpan payload) {
  if (!fd_.valid()) {
    HR_TRY(fd_, make_file_());
  }
  const auto header = EncodeRecordHeader(record);
  if (const int error = calls_.Write(fd_.get(), offset, header, payload); error != 0) {
    return ErrnoStatus(error, "write to the disk cache");
  }
  return {};
}

Result<Segment::Payload> Segment::Read(std::uint64_t offset, const CacheKey& key,
                                       std::uint64_t bytes, BufferPool& buffers, bool wait) {
  const std::size_t all = kRecordHeaderBytes + bytes;
  std::shared_ptr<std::byte> buffer = buffers.Take(all);
  std::byte* const begin = buffer.get();
  const int error = wait ? calls_.Read(fd_.get(), offset, {begin, all})
                         : calls_.ReadNow(fd_.get(), offset, {begin, all});
  if (error == EAGAIN && !wait) return Unavailable("it is not in memory");
  if (error != 0) return ErrnoStatus(error, "read of the disk cache");
  HR_TRY(const Record record, DecodeRecordHeader({begin, kRecordHeaderBytes}));
  const ByteSpan payload(begin + kRecordHeaderBytes, bytes);
  if (EntryId::Of(record.key) != EntryId::Of(key) || record.key.content != key.content ||
      record.bytes != bytes) {
    return DataLoss("another record");
  }
  if (HashBytes(payload) != record.hash) return DataLoss("a damaged payload");
  return Payload{payload, std::move(buffer)};
}

// By its descriptor: it may have no name.
Result<UniqueFd> Segment::Reopen() const {
  const std::string path = "/proc/self/fd/" + std::to_string(fd_.get());
  UniqueFd again(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!again.valid()) return ErrnoStatus(errno, "a file of the disk cache");
  return again;
}

SegmentList Segment::FindRecords() {
  SegmentList list;
  if (auto known = ReadList(calls_, ListPath(path_), size_)) list = std::move(*known);
  std::array<std::byte, kRecordHeaderBytes> header{};
  while (list.end + kRecordHeaderBytes <= size_) {
    if (calls_.Read(fd_.get(), list.end, header) != 0) break;
    const Result<Record> record = DecodeRecordHeader(header);
    if (!record.ok() || record->bytes > size_) break;
    const PlacedRecord placed{.record = *record, .offset = list.end};
    if (placed.offset + kRecordHeaderBytes + placed.record.bytes > size_) break;
    list.records.push_back(placed);
    list.end = std::min(placed.end(), size_);
  }
  return list;
}

void Segment::Keep(const SegmentList& list) {
  keep_ = true;
  if (path_.empty() || !fd_.valid()) return;
  // Complete or not there: a list that is cut off does not match its hash.
  const UniqueFd fd(
      ::open(ListPath(path_).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.valid()) (void)calls_.Write(fd.get(), 0, EncodeSegmentList(list), {});
}

}  // namespace headrace::dataworker
