#include "net/payload.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace headrace::net {

std::vector<PayloadFrame> SplitPayload(ByteSpan bytes, const std::shared_ptr<const void>& owner) {
  std::vector<PayloadFrame> frames;
  frames.reserve(bytes.size() / kPayloadFrameBytes + 1);
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kPayloadFrameBytes);
    frames.push_back({.data = bytes.first(size), .owner = owner});
    bytes = bytes.subspan(size);
  }
  return frames;
}

Status JoinPayload(std::span<const ByteSpan> payload, MutableByteSpan to) {
  std::size_t total = 0;
  for (const ByteSpan part : payload) total += part.size();
  if (total != to.size()) {
    return InvalidArgument("payload of " + std::to_string(total) + " bytes where " +
                           std::to_string(to.size()) + " were announced");
  }
  for (const ByteSpan part : payload) {
    if (!part.empty()) std::memcpy(to.data(), part.data(), part.size());
    to = to.subspan(part.size());
  }
  return Status::Ok();
}

void TuneAllocatorForLargeMessages() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace headrace::net
