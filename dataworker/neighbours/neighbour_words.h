#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "base/result.h"
#include "schemas/wire/control.h"

// What neighbours say to each other: workers of one host, user, release and coordinator, about the leaves that
// each keeps (docs/adr/0115-leaves-of-a-host.md). One packet is a question, or the answer to one, each of one size.
// Every packet says by its ground who speaks with whom, so packets of others are refused wherever they come from.
// Pure.
namespace headrace::dataworker {

// What neighbours have in common, as a digest.
using NeighbourGround = std::array<std::uint64_t, 2>;
// `coordinator`: its address, as the worker was told it: tenants and their bounds are a coordinator's.
[[nodiscard]] NeighbourGround NeighbourGroundOf(const wire::HostIdentity& host,
                                                std::string_view coordinator);

// 64 bytes, little endian: u32 magic, u32 protocol, u64 ground[2], u32 what, u32 zero, u64 request, number, size (0
// of a question), more (0).
using NeighbourPacket = std::array<std::byte, 64>;

struct NeighbourAsk {
  enum class What : std::uint32_t {
    kIndex = 1,    // all that is kept, unless it is still the version `number`
    kSegment = 2,  // the memory or the file of that number
  };
  What what = What::kIndex;
  std::uint64_t request = 0;  // which the answer names
  std::uint64_t number = 0;
};

struct NeighbourTold {
  enum class How : std::uint32_t {
    kNothing = 16,  // what was asked for is not there
    kSame = 17,     // it is that version
    kHere = 18,     // `size` bytes: a descriptor comes along, unless there are none
  };
  How how = How::kNothing;
  std::uint64_t request = 0;
  std::uint64_t version = 0;  // of an index; never 0
  std::uint64_t size = 0;
};

[[nodiscard]] NeighbourPacket PacketOf(const NeighbourGround& ground, const NeighbourAsk& ask);
[[nodiscard]] NeighbourPacket PacketOf(const NeighbourGround& ground, const NeighbourTold& told);
// kInvalidArgument: it is no such packet. kUnsupported: it is one of another protocol or ground.
[[nodiscard]] Result<NeighbourAsk> ReadNeighbourAsk(const NeighbourGround& ground, ByteSpan packet);
[[nodiscard]] Result<NeighbourTold> ReadNeighbourTold(const NeighbourGround& ground,
                                                      ByteSpan packet);

}  // namespace headrace::dataworker
