#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/memory/worker_memory.h"

namespace headrace::dataworker {

// Memory in which pictures go from this process to one lane: a memory file that the lane maps and can't write.
// Its pages are taken when something is first written there. Not thread-safe, but for the bytes themselves.
class PictureRing {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;

  // `lease`: of kBytes, held as long as it. kUnsupported: a kernel that can't keep others from writing.
  static Result<std::shared_ptr<PictureRing>> Make(WorkerMemory::Lease lease);
  PictureRing(const PictureRing&) = delete;
  PictureRing& operator=(const PictureRing&) = delete;
  ~PictureRing();

  // Where so many bytes may be written; none: there is no room now. REQUIRES: bytes > 0.
  std::optional<std::size_t> Take(std::size_t bytes);
  // REQUIRES: what Take gave for so many.
  void Free(std::size_t offset, std::size_t bytes);
  [[nodiscard]] MutableByteSpan At(std::size_t offset, std::size_t bytes) const {
    return {memory_ + offset, bytes};
  }
  [[nodiscard]] int descriptor() const { return file_.get(); }
  // Bytes that Take may still give, in pieces.
  [[nodiscard]] std::size_t left() const;

 private:
  PictureRing(WorkerMemory::Lease lease, UniqueFd file, std::byte* memory)
      : lease_(std::move(lease)), file_(std::move(file)), memory_(memory), free_{{0, kBytes}} {}
  const WorkerMemory::Lease lease_;
  const UniqueFd file_;
  std::byte* const memory_;
  std::map<std::size_t, std::size_t> free_;  // bytes by offset; neighbours are joined
};

}  // namespace headrace::dataworker
