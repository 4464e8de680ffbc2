#include "dataworker/memory/memory_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kSlotAlignment = 64;

// A blob's memory with its span, so that one pointer keeps both.
struct MappedBlob {
  explicit MappedBlob(ByteSpan mapped) : span(mapped) {}
  MappedBlob(const MappedBlob&) = delete;
  MappedBlob& operator=(const MappedBlob&) = delete;
  ~MappedBlob() {
    if (!span.empty()) ::munmap(const_cast<std::byte*>(span.data()), span.size());
  }
  const ByteSpan span;
};
struct OwnedBlob {
  explicit OwnedBlob(Bytes owned) : bytes(std::move(owned)), span(bytes) {}
  const Bytes bytes;
  const ByteSpan span;
};

Status CheckSize(int fd, std::uint64_t bytes) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return ErrnoStatus(errno, "fstat of a passed descriptor");
  if (bytes == 0 || static_cast<std::uint64_t>(st.st_size) < bytes) {
    return InvalidArgument("a descriptor of " + std::to_string(st.st_size) +
                           " bytes was passed as " + std::to_string(bytes));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<ArenaMap>> ArenaMap::Map(UniqueFd fd, std::uint64_t bytes,
                                                UniqueFd channel) {
  HR_RETURN_IF_ERROR(CheckSize(fd.get(), bytes));
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) {
    return ErrnoStatus(errno, "map an arena of " + std::to_string(bytes) + " bytes");
  }
  const MutableByteSpan memory{static_cast<std::byte*>(mapped), bytes};
  return std::shared_ptr<ArenaMap>(new ArenaMap(std::move(fd), std::move(channel), memory));
}

ArenaMap::~ArenaMap() { ::munmap(memory_.data(), memory_.size()); }

Result<MutableByteSpan> ArenaMap::Slot(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > size() || bytes > size() - offset) {
    return InvalidArgument("slot [" + std::to_string(offset) + ", +" + std::to_string(bytes) +
                           ") is outside of the arena of " + std::to_string(size()) + " bytes");
  }
  if (offset % kSlotAlignment != 0) {
    return InvalidArgument("slot offset " + std::to_string(offset) + " is not 64-aligned");
  }
  return memory_.subspan(offset, bytes);
}

Result<BlobContent> BlobFromDescriptor(const UniqueFd& fd, std::uint64_t bytes) {
  HR_RETURN_IF_ERROR(CheckSize(fd.get(), bytes));
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) {
    return ErrnoStatus(errno, "map a blob of " + std::to_string(bytes) + " bytes");
  }
  auto blob =
      std::make_shared<const MappedBlob>(ByteSpan{static_cast<const std::byte*>(mapped), bytes});
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_WRITE) == 0) return BlobFromBytes(CopyBytes(blob->span));
  return BlobContent(blob, &blob->span);
}

Result<BlobBuilder> BlobBuilder::Make(std::uint64_t total_bytes) {
  if (total_bytes == 0) return BlobBuilder({}, BlobFromBytes({}));
  void* mapped = ::mmap(nullptr, total_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return ResourceExhausted("no memory for a blob of " + std::to_string(total_bytes) + " bytes");
  }
  const MutableByteSpan memory{static_cast<std::byte*>(mapped), total_bytes};
  auto blob = std::make_shared<const MappedBlob>(memory);
  return BlobBuilder(memory, BlobContent(blob, &blob->span));
}

Status BlobBuilder::Append(std::uint64_t offset, ByteSpan part) {
  if (offset != filled_ || part.size() > memory_.size() - filled_) {
    return InvalidArgument("blob part [" + std::to_string(offset) + ", +" +
                           std::to_string(part.size()) + ") after " + std::to_string(filled_) +
                           " of " + std::to_string(memory_.size()) + " bytes");
  }
  if (!part.empty()) std::memcpy(memory_.data() + filled_, part.data(), part.size());
  filled_ += part.size();
  return {};
}

BlobContent BlobBuilder::Take() { return std::move(blob_); }

BlobContent BlobFromBytes(Bytes bytes) {
  auto blob = std::make_shared<const OwnedBlob>(std::move(bytes));
  return BlobContent(blob, &blob->span);
}

}  // namespace headrace::dataworker
