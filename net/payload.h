#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "net/reactor.h"

// Large payloads: how they are cut, put together again, and how a process makes memory ready for
// them.
namespace headrace::net {

// Size of the frames that a payload is cut into (measured: docs/wire.md, "Large payloads").
inline constexpr std::size_t kPayloadFrameBytes = std::size_t{1} << 20;

// Cuts a batch into frames that share one owner. No copy.
[[nodiscard]] std::vector<PayloadFrame> SplitPayload(ByteSpan bytes,
                                                     const std::shared_ptr<const void>& owner);

// Copies the frames one after the other. kInvalidArgument: they are not `to.size()` bytes in all.
[[nodiscard]] Status JoinPayload(std::span<const ByteSpan> payload, MutableByteSpan to);

// Tells malloc to keep the memory of freed messages instead of handing it back to the kernel, which
// costs a page fault for every 4 KiB of the next one. For our own processes (worker, coordinator):
// it holds for the whole process. Call once, first thing in main.
void TuneAllocatorForLargeMessages();

}  // namespace headrace::net
