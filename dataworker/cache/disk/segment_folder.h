#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/cache/disk/disk_calls.h"
#include "dataworker/cache/disk/segment.h"

namespace headrace::dataworker {

// The directory of the disk tier. One process has it at a time. Other files there stay as they are.
//
//   lock                              held while the process lives
//   NUMBER-MAKER.segment              records
//   NUMBER-MAKER.segment.list         its records, once the process has ended in order
class SegmentFolder {
 public:
  // Makes the directory if it is missing. Files of another maker are deleted: its payloads may have
  // other bits. Empty path: segments have no names, and lie in $TMPDIR or /var/tmp. kInvalidArgument:
  // the directory is open to other users, or is none. kUnavailable: another process has it.
  static Result<std::unique_ptr<SegmentFolder>> Open(const std::string& path, std::uint64_t maker,
                                                     DiskCalls& calls = DiskCalls::Real());

  // Whether files of this folder can be read without waiting for the disk (DiskCalls::CanReadNow).
  [[nodiscard]] bool can_read_now() const { return can_read_now_; }
  // A new segment, without its file: that is made by whoever writes first. Thread-safe; does not block.
  // This object outlives its writes.
  std::shared_ptr<Segment> Make(std::uint64_t bytes);

  struct Found {
    std::shared_ptr<Segment> segment;
    SegmentList list;
  };
  // What earlier processes have left, oldest first: the newest segments that fit `budget` bytes, where an
  // entry takes `per_entry` beside its file. The others are deleted, and those without a record. Call it
  // once, before Make. Blocks; several threads look.
  std::vector<Found> TakeFound(std::uint64_t budget, std::uint64_t per_entry);

 private:
  SegmentFolder(std::string path, std::uint64_t maker, DiskCalls& calls)
      : path_(std::move(path)), maker_(maker), calls_(calls) {}
  Status Lock();
  void LookThrough();
  // Errors are the system's; kResourceExhausted: the disk is full.
  Result<UniqueFd> MakeFile(const std::string& path, std::uint64_t bytes) const;
  [[nodiscard]] std::string PathOf(std::uint64_t number) const;

  const std::string path_;
  const std::uint64_t maker_;
  DiskCalls& calls_;
  UniqueFd lock_;
  bool can_read_now_ = false;
  std::vector<std::uint64_t> left_;  // numbers of segments, in order
  std::atomic<std::uint64_t> next_ = 1;
};

// Tells builds apart whose operators could make other payloads, by the build ids of the program and the
// libraries that it has loaded; and hosts, by /etc/machine-id: identities of files are a host's own.
[[nodiscard]] std::uint64_t MakerOfPayloads();

}  // namespace headrace::dataworker
