#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace {

// Several files as one run of bytes that tells where each of them is: what a sample of several
// files is on its way through a worker. Never written to a disk or a peer.
//
//   magic, count, a size for each | file 0, slack | file 1, slack | ...
//
// Each file begins at a multiple of 64 bytes, and ScratchBuffer::kSlack bytes after it are readable.
// Thread-safe: a view of memory that the caller keeps.
class FileGroup {
 public:
  // Most files of a group.
  static constexpr std::size_t kMost = 16;

  // Bytes of a group of files of these sizes. REQUIRES: 1 to kMost sizes, whose sum is no more than
  // 2^40.
  [[nodiscard]] static std::size_t BytesOf(std::span<const std::size_t> sizes);
  // Writes all but the files' bytes to `group`, and gives the place of each file. REQUIRES:
  // group.size() == BytesOf(sizes), aligned to 8 bytes.
  static std::vector<MutableByteSpan> Lay(std::span<const std::size_t> sizes,
                                          MutableByteSpan group);
  // kDataLoss: not a group.
  static Result<FileGroup> Open(ByteSpan group);

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  // REQUIRES: i < size().
  [[nodiscard]] ByteSpan operator[](std::size_t i) const { return files_[i]; }

 private:
  std::vector<ByteSpan> files_;
};

}  // namespace headrace
