#include "dataworker/stage/stage_request.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headrace::dataworker {
namespace {

void AppendNumber(Bytes& out, std::uint64_t value) {
  const ByteSpan raw = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), raw.begin(), raw.end());
}

template <typename T>
void AppendAll(Bytes& out, const std::vector<T>& values) {
  const ByteSpan raw = std::as_bytes(std::span(values));
  out.insert(out.end(), raw.begin(), raw.end());
}

}  // namespace

Bytes StageRequestBytes(const wire::BatchRequest& request, std::uint64_t slot_offset) {
  Bytes bytes;
  for (const std::uint64_t value :
       {static_cast<std::uint64_t>(std::max<std::int64_t>(request.lane.value, 0)),
        request.base_seed, slot_offset, request.slot_bytes,
        static_cast<std::uint64_t>(request.keys.size()),
        static_cast<std::uint64_t>(request.seeds.size()),
        static_cast<std::uint64_t>(request.lane_state.size()),
        static_cast<std::uint64_t>(request.index.size()),
        static_cast<std::uint64_t>(request.iteration.value),
        static_cast<std::uint64_t>(request.batch.value),
        static_cast<std::uint64_t>(request.lane_after + 1)}) {
    AppendNumber(bytes, value);
  }
  AppendAll(bytes, request.keys);
  AppendAll(bytes, request.seeds);
  AppendAll(bytes, request.lane_state);
  AppendAll(bytes, request.index);
  return bytes;
}

std::vector<std::uint64_t> StageNumbers(ByteSpan bytes) {
  std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::uint64_t));
  }
  return numbers;
}

Status WrongAnswer() { return Unavailable("a stage host answered wrongly"); }

Result<std::uint64_t> UsedBytes(std::span<const std::uint64_t> offsets,
                                std::span<const std::uint64_t> sizes, std::uint64_t slot_bytes) {
  if (offsets.size() != sizes.size()) return WrongAnswer();
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (offsets[i] > slot_bytes || sizes[i] > slot_bytes - offsets[i]) return WrongAnswer();
    used = std::max(used, offsets[i] + sizes[i]);
  }
  return used;
}

Result<UniqueFd> MemoryFile(const char* name, ByteSpan content) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) return ErrnoStatus(errno, "memfd");
  for (std::size_t written = 0; written < content.size();) {
    const ssize_t n = ::write(file.get(), content.data() + written, content.size() - written);
    if (n < 0 && errno != EINTR) return ErrnoStatus(errno, "write to a memfd");
    if (n > 0) written += static_cast<std::size_t>(n);
  }
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return ErrnoStatus(errno, "sealing a memfd");
  return file;
}

}  // namespace headrace::dataworker
