#include "dataworker/cache/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "dataworker/cache/chunk_room.h"

namespace headrace::dataworker {

Result<std::size_t> SealedMemory::SizeOf(int file, std::size_t most) {
  constexpr int kWanted = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = ::fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & kWanted) != kWanted) {
    return InvalidArgument("no sealed memory file");
  }
  struct stat st;
  if (::fstat(file, &st) != 0) return ErrnoStatus(errno, "fstat of a memory file");
  const auto size = static_cast<std::size_t>(st.st_size);
  if (size == 0 || size > most) {
    return InvalidArgument("a memory file of " + std::to_string(size) + " bytes");
  }
  return size;
}

Result<std::shared_ptr<SealedMemory>> SealedMemory::Take(UniqueFd file, std::size_t most) {
  HR_TRY(const std::size_t size, SizeOf(file.get(), most));
  const void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return ErrnoStatus(errno, "mmap of a memory file");
  return std::shared_ptr<SealedMemory>(
      new SealedMemory(std::move(file), ByteSpan(static_cast<const std::byte*>(mapped), size)));
}

SealedMemory::~SealedMemory() {
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());  // which takes no const
}

std::size_t SealedMemory::room() const { return RoundUp(bytes_.size(), ChunkRoom::kPage); }

}  // namespace headrace::dataworker
