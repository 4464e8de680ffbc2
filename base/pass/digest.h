#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/buffer.h"

namespace headrace {

using Digest = std::array<std::uint64_t, 4>;

// Names the parts, in their order, between peers that do not trust each other: nobody can make other parts
// with the same digest. Takes 1 ns a byte or less. Source: BLAKE2b (RFC 7693) of the parts and their
// lengths, by libsodium. Thread-safe.
[[nodiscard]] Digest DigestOf(std::span<const ByteSpan> parts);

}  // namespace headrace
