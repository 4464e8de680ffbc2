#include "dataworker/cache/memory/mapped_memory.h"

#include <sys/mman.h>

namespace headrace::dataworker {
namespace {

constexpr std::size_t kMappedHugePage = std::size_t{2} << 20;

constexpr std::size_t NextHugePage(std::size_t address) {
  return (address + kMappedHugePage - 1) / kMappedHugePage * kMappedHugePage;
}

}  // namespace

std::shared_ptr<MappedMemory> MappedMemory::Make(std::size_t bytes) {
  const std::size_t extra = bytes >= kMappedHugePage ? kMappedHugePage : 0;
  void* mapped = ::mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  if (extra > 0) {
    const std::size_t address = reinterpret_cast<std::size_t>(begin);
    const std::size_t before = NextHugePage(address) - address;
    if (before > 0) ::munmap(begin, before);
    begin += before;
    if (extra > before) ::munmap(begin + bytes, extra - before);
    ::madvise(begin, bytes, MADV_HUGEPAGE);
  }
  return std::shared_ptr<MappedMemory>(new MappedMemory(begin, bytes));
}

void MappedMemory::Cut(std::size_t bytes) {
  if (::munmap(begin_ + bytes, bytes_ - bytes) == 0) bytes_ = bytes;
}

MappedMemory::~MappedMemory() { ::munmap(begin_, bytes_); }

}  // namespace headrace::dataworker
