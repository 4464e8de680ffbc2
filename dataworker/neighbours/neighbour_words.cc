#include "dataworker/neighbours/neighbour_words.h"

#include <cstring>
#include <string>

#include "base/pass/digest.h"
#include "base/version.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint32_t kMagic = 0x424E5248;  // "HRNB"
// Changes with any change of a packet's, a row's or an entry's meaning.
constexpr std::uint32_t kProtocol = 1;

struct Words {
  std::uint32_t magic, protocol;
  NeighbourGround ground;
  std::uint32_t what, zero;
  std::uint64_t request, number, size, more;
};
static_assert(sizeof(Words) == sizeof(NeighbourPacket));

NeighbourPacket Pack(const Words& words) {
  NeighbourPacket packet;
  std::memcpy(packet.data(), &words, sizeof(words));
  return packet;
}

Result<Words> Unpack(const NeighbourGround& ground, ByteSpan packet) {
  Words words{};
  if (packet.size() != sizeof(words)) {
    return InvalidArgument("a packet of " + std::to_string(packet.size()) + " bytes");
  }
  std::memcpy(&words, packet.data(), sizeof(words));
  if (words.magic != kMagic) return InvalidArgument("a packet of another kind");
  if (words.protocol != kProtocol) {
    return Unsupported("a neighbour of protocol " + std::to_string(words.protocol));
  }
  if (words.ground != ground) {
    return Unsupported("a worker of another release, coordinator, user or host");
  }
  if (words.zero != 0 || words.more != 0) return InvalidArgument("a packet that says more");
  return words;
}

}  // namespace

NeighbourGround NeighbourGroundOf(const wire::HostIdentity& host, std::string_view coordinator) {
  const std::string user = std::to_string(host.uid);
  const std::array<std::uint64_t, 4> sizes{host.boot_id.size(), host.hostname.size(), user.size(),
                                           coordinator.size()};
  const std::array<ByteSpan, 6> parts{std::as_bytes(std::span(sizes)),
                                      AsBytes(host.boot_id),
                                      AsBytes(host.hostname),
                                      AsBytes(user),
                                      AsBytes(coordinator),
                                      AsBytes(kVersion)};
  const Digest digest = DigestOf(parts);
  return {digest[0], digest[1]};
}

NeighbourPacket PacketOf(const NeighbourGround& ground, const NeighbourAsk& ask) {
  return Pack({.magic = kMagic,
               .protocol = kProtocol,
               .ground = ground,
               .what = static_cast<std::uint32_t>(ask.what),
               .zero = 0,
               .request = ask.request,
               .number = ask.number,
               .size = 0,
               .more = 0});
}

NeighbourPacket PacketOf(const NeighbourGround& ground, const NeighbourTold& told) {
  return Pack({.magic = kMagic,
               .protocol = kProtocol,
               .ground = ground,
               .what = static_cast<std::uint32_t>(told.how),
               .zero = 0,
               .request = told.request,
               .number = told.version,
               .size = told.size,
               .more = 0});
}

Result<NeighbourAsk> ReadNeighbourAsk(const NeighbourGround& ground, ByteSpan packet) {
  HR_TRY(const Words words, Unpack(ground, packet));
  NeighbourAsk ask{.what = static_cast<NeighbourAsk::What>(words.what),
                   .request = words.request,
                   .number = words.number};
  if (words.size != 0) return InvalidArgument("a question that says more");
  if (ask.what != NeighbourAsk::What::kIndex && ask.what != NeighbourAsk::What::kSegment) {
    return InvalidArgument("a question of unknown kind " + std::to_string(words.what));
  }
  return ask;
}

Result<NeighbourTold> ReadNeighbourTold(const NeighbourGround& ground, ByteSpan packet) {
  HR_TRY(const Words words, Unpack(ground, packet));
  NeighbourTold told{.how = static_cast<NeighbourTold::How>(words.what),
                     .request = words.request,
                     .version = words.number,
                     .size = words.size};
  if (told.how != NeighbourTold::How::kNothing && told.how != NeighbourTold::How::kSame &&
      told.how != NeighbourTold::How::kHere) {
    return InvalidArgument("an answer of unknown kind " + std::to_string(words.what));
  }
  return told;
}

}  // namespace headrace::dataworker
