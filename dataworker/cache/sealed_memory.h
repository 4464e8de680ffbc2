#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/chunk.h"

namespace headrace::dataworker {

// A memory file that another process has written and sealed: nobody can change it any more, that process
// neither. So it can be a chunk's body without a copy, and other processes may map it. Immutable once it is
// shared.
class SealedMemory final : public ChunkBody {
 public:
  // Maps it. kInvalidArgument: it is no memory file with all of its seals, or has no bytes, or more than
  // `most`. kResourceExhausted: no memory for the map.
  static Result<std::shared_ptr<SealedMemory>> Take(UniqueFd file, std::size_t most);
  // The bytes of such a file, which is not mapped. Errors of Take, but for the map's.
  static Result<std::size_t> SizeOf(int file, std::size_t most);
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;
  ~SealedMemory() override;

  [[nodiscard]] ByteSpan bytes() const { return bytes_; }
  // Of whole pages, which is what it takes.
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] int descriptor() const { return file_.get(); }
  // Those that a tier keeps of it. REQUIRES: set before others have this.
  void SetEntries(std::vector<SealedEntry> entries) { entries_ = std::move(entries); }
  [[nodiscard]] const std::vector<SealedEntry>& entries() const { return entries_; }

 private:
  SealedMemory(UniqueFd file, ByteSpan bytes) : file_(std::move(file)), bytes_(bytes) {}
  const UniqueFd file_;
  const ByteSpan bytes_;
  std::vector<SealedEntry> entries_;
};

}  // namespace headrace::dataworker
