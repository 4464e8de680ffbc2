#include "net/payload.h"

#include <algorithm>

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

}  // namespace headrace::net
