#pragma once

#include <cstddef>
#include <memory>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/cache/chunk.h"

namespace headrace::dataworker {

// A memory file that another process has written and sealed: nobody can change it any more, that process
// neither. So it can be a chunk's body without a copy, and other processes may map it. Immutable.
class SealedMemory final : public ChunkBody {
 public:
  // Maps it. kInvalidArgument: it is no memory file with all of its seals, or has no bytes, or more than
  // `most`. kResourceExhausted: no memory for the map.
  static Result<std::shared_ptr<SealedMemory>> Take(UniqueFd file, std::size_t most);
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;
  ~SealedMemory() override;

  [[nodiscard]] ByteSpan bytes() const { return bytes_; }
  // Of whole pages, which is what it takes.
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] int descriptor() const { return file_.get(); }

 private:
  SealedMemory(UniqueFd file, ByteSpan bytes) : file_(std::move(file)), bytes_(bytes) {}
  const UniqueFd file_;
  const ByteSpan bytes_;
};

}  // namespace headrace::dataworker
