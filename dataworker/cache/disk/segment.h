#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/cache/chunk_store.h"
#include "dataworker/cache/disk/buffer_pool.h"
#include "dataworker/cache/disk/disk_calls.h"
#include "dataworker/cache/disk/record.h"

namespace headrace::dataworker {

// A file of records: the body of a chunk of the disk tier. Thread-safe but for what is said below. Its destructor deletes the file,
// and its list, unless it was told to keep them. What a killed process leaves stays, too.
class Segment final : public ChunkBody {
 public:
  // Makes the file, with room for all of it. Blocks; of the thread that writes.
  using MakeFile = std::function<Result<UniqueFd>()>;
  // A new one: its file is made when the first record is written. `path`: of the file; empty: it has no
  // name, and is gone with the process.
  Segment(DiskCalls& calls, MakeFile make_file, std::string path, std::uint64_t size)
      : calls_(calls), make_file_(std::move(make_file)), path_(std::move(path)), size_(size) {}
  // One whose file is there.
  Segment(DiskCalls& calls, UniqueFd fd, std::string path, std::uint64_t size)
      : calls_(calls), fd_(std::move(fd)), path_(std::move(path)), size_(size) {}
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() override;

  [[nodiscard]] std::uint64_t size() const { return size_; }

  // Blocks. Errors are the system's. One thread writes. REQUIRES: the record fits the segment from there.
  Status Write(std::uint64_t offset, const Record& record, ByteSpan payload);
  struct Payload {
    ByteSpan bytes;  // ScratchBuffer::kSlack bytes after them are readable
    std::shared_ptr<const void> hold;
  };
  // Reads the payload of a record that is written. With `wait` it blocks; without it: kUnavailable, if not all is in
  // memory. kDataLoss: another record is there, or other bytes than were written. Other errors are the
  // system's.
  Result<Payload> Read(std::uint64_t offset, const CacheKey& key, std::uint64_t bytes,
                       BufferPool& buffers, bool wait);
  // The file again, only to be read. REQUIRES: a record is written. Does not wait for the disk.
  [[nodiscard]] Result<UniqueFd> Reopen() const;
  // The records that a process before this one has left: those of the list, and what follows them. Ends
  // at the first one that is not whole. Blocks.
  [[nodiscard]] SegmentList FindRecords();
  // Has the file outlive this object, and writes the list of its records. If that fails, a start has to
  // look for them. Blocks.
  void Keep(const SegmentList& list);

  // Of the list that lies beside a segment.
  static std::string ListPath(const std::string& path) { return path + ".list"; }

 private:
  DiskCalls& calls_;
  const MakeFile make_file_;
  UniqueFd fd_;  // set by the thread that writes, before anybody reads
  const std::string path_;
  const std::uint64_t size_;
  bool keep_ = false;  // set by the thread that owns the tier, at its end
};

}  // namespace headrace::dataworker
