#include "dataworker/share/picture_ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace headrace::dataworker {
namespace {

constexpr std::size_t kRingUnit = 64;

std::size_t InUnits(std::size_t bytes) { return (bytes + kRingUnit - 1) / kRingUnit * kRingUnit; }

}  // namespace

Result<std::shared_ptr<PictureRing>> PictureRing::Make(WorkerMemory::Lease lease) {
  UniqueFd file(::memfd_create("headrace-ahead", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ::ftruncate(file.get(), kBytes) != 0) return ErrnoStatus(errno, "memfd");
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "a map of a memfd");
  std::shared_ptr<PictureRing> ring(
      new PictureRing(std::move(lease), std::move(file), static_cast<std::byte*>(memory)));
  // The map that is there stays writable. Whoever gets the descriptor can neither write nor cut it.
  constexpr int kSeals = F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(ring->descriptor(), F_ADD_SEALS, kSeals) != 0) {
    return Unsupported("this kernel can't seal memory that is still written");
  }
  return ring;
}

PictureRing::~PictureRing() { ::munmap(memory_, kBytes); }

std::optional<std::size_t> PictureRing::Take(std::size_t bytes) {
  if (bytes > kBytes) return std::nullopt;
  const std::size_t wanted = InUnits(bytes);
  // The first that fits: so pages that were written before are written again.
  const auto place =
      std::ranges::find_if(free_, [wanted](const auto& part) { return part.second >= wanted; });
  if (place == free_.end()) return std::nullopt;
  const auto [offset, size] = *place;
  free_.erase(place);
  if (size > wanted) free_.emplace(offset + wanted, size - wanted);
  return offset;
}

void PictureRing::Free(std::size_t offset, std::size_t bytes) {
  auto place = free_.emplace(offset, InUnits(bytes)).first;
  if (const auto next = std::next(place);
      next != free_.end() && place->first + place->second == next->first) {
    place->second += next->second;
    free_.erase(next);
  }
  if (place == free_.begin()) return;
  const auto before = std::prev(place);
  if (before->first + before->second == place->first) {
    before->second += place->second;
    free_.erase(place);
  }
}

std::size_t PictureRing::left() const {
  std::size_t bytes = 0;
  for (const auto& [offset, size] : free_) bytes += size;
  return bytes;
}

}  // namespace headrace::dataworker
