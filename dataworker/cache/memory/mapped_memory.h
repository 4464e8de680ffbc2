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
  [[nodiscard]] std::byte* begin() const { return begin_; }
  // The first `bytes` stay, and so do pointers there. One thread at a time.
  void Cut(std::size_t bytes) override;

 private:
  MappedMemory(std::byte* begin, std::size_t bytes) : begin_(begin), bytes_(bytes) {}
  std::byte* const begin_;
  std::size_t bytes_;
};

}  // namespace headrace::dataworker
