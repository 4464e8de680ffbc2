#pragma once

#include <memory>
#include <vector>

#include "base/buffer.h"
#include "net/reactor.h"

namespace headrace::net {

// Size of the frames that a payload is cut into. A receiver's malloc keeps blocks of this size. A
// batch in one frame goes back to the kernel and costs page faults (docs/wire.md, "Large
// payloads").
inline constexpr std::size_t kPayloadFrameBytes = std::size_t{1} << 20;

// Cuts a batch into frames that share one owner, without a copy.
[[nodiscard]] std::vector<PayloadFrame> SplitPayload(ByteSpan bytes,
                                                     const std::shared_ptr<const void>& owner);

}  // namespace headrace::net
