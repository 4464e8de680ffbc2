#pragma once

#include <cstddef>
#include <memory>

#include "base/buffer.h"
#include "dataworker/cache/chunk_store.h"

namespace headrace::dataworker {

// A big anonymous map: the body of a chunk of the memory tier.
class MappedMemory final : public ChunkBody {
 public:
  // Null: the system has no memory. Aligned for huge pages if it is as large as one.
  static std::shared_ptr<MappedMemory> Make(std::size_t bytes);
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  ~MappedMemory() override;
  [[nodiscard]] MutableByteSpan memory() const { return memory_; }

 private:
  explicit MappedMemory(MutableByteSpan memory) : memory_(memory) {}
  const MutableByteSpan memory_;
};

}  // namespace headrace::dataworker
