#include "base/file_group.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMagic = 0x3147465248ULL;  // "HRFG1"
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostBytes = std::size_t{1} << 40;

std::size_t Aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t HeadBytes(std::size_t files) { return Aligned((2 + files) * sizeof(std::uint64_t)); }

}  // namespace

std::size_t FileGroup::BytesOf(std::span<const std::size_t> sizes) {
  HR_CHECK(!sizes.empty() && sizes.size() <= kMost);
  std::size_t bytes = HeadBytes(sizes.size());
  for (const std::size_t size : sizes) bytes += Aligned(size + ScratchBuffer::kSlack);
  return bytes;
}

std::vector<MutableByteSpan> FileGroup::Lay(std::span<const std::size_t> sizes,
                                            MutableByteSpan group) {
  HR_CHECK(group.size() == BytesOf(sizes));
  std::vector<std::uint64_t> head{kMagic, sizes.size()};
  head.insert(head.end(), sizes.begin(), sizes.end());
  std::size_t at = HeadBytes(sizes.size());
  std::fill(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(at), std::byte{});
  std::memcpy(group.data(), head.data(), head.size() * sizeof(head[0]));
  std::vector<MutableByteSpan> places;
  for (const std::size_t size : sizes) {
    places.push_back(group.subspan(at, size));
    const std::size_t end = at + Aligned(size + ScratchBuffer::kSlack);
    std::ranges::fill(group.subspan(at + size, end - at - size), std::byte{});
    at = end;
  }
  return places;
}

Result<FileGroup> FileGroup::Open(ByteSpan group) {
  const Status refused = DataLoss("not a group of files");
  std::uint64_t head[2];
  if (group.size() < sizeof(head)) return refused;
  std::memcpy(head, group.data(), sizeof(head));
  if (head[0] != kMagic || head[1] == 0 || head[1] > kMost) return refused;
  const auto count = static_cast<std::size_t>(head[1]);
  if (group.size() < HeadBytes(count)) return refused;
  std::vector<std::size_t> sizes(count);
  std::memcpy(sizes.data(), group.data() + sizeof(head), count * sizeof(sizes[0]));
  if (std::ranges::any_of(sizes, [](std::size_t size) { return size > kMostBytes; }) ||
      group.size() != BytesOf(sizes)) {
    return refused;
  }
  FileGroup opened;
  std::size_t at = HeadBytes(count);
  for (const std::size_t size : sizes) {
    opened.files_.push_back(group.subspan(at, size));
    at += Aligned(size + ScratchBuffer::kSlack);
  }
  return opened;
}

}  // namespace headrace
