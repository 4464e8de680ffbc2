#include "schemas/wire/message.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "schemas/wire/convert_internal.h"

namespace headrace::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "vectors are copied as they lie");

constexpr std::array<char, 3> kMagic = {'H', 'R', 'W'};
constexpr std::size_t kMaxDepth = 16;  // ClusterStatus, the deepest, needs 5

// The type of each alternative of Body, by index.
constexpr std::array kTypes = {MessageType::kUnknown,
                               MessageType::kOpenJob,
                               MessageType::kJobOpened,
                               MessageType::kOpenSession,
                               MessageType::kSessionOpened,
                               MessageType::kConsumerHeartbeat,
                               MessageType::kLeases,
                               MessageType::kCloseSession,
                               MessageType::kCloseJob,
                               MessageType::kRegisterWorker,
                               MessageType::kWorkerRegistered,
                               MessageType::kWorkerHeartbeat,
                               MessageType::kWorkerDirective,
                               MessageType::kLeaveWorker,
                               MessageType::kStatusQuery,
                               MessageType::kClusterStatus,
                               MessageType::kAttach,
                               MessageType::kAttached,
                               MessageType::kBlobPart,
                               MessageType::kDetach,
                               MessageType::kDescribe,
                               MessageType::kDescribed,
                               MessageType::kBatchRequest,
                               MessageType::kBatchDone,
                               MessageType::kCancelIterations,
                               MessageType::kPeerFind,
                               MessageType::kPeerFound,
                               MessageType::kPeerPut,
                               MessageType::kPing,
                               MessageType::kPong,
                               MessageType::kDatasetOrder,
                               MessageType::kDatasetOrdered,
                               MessageType::kClusterOrder,
                               MessageType::kClusterOrdered};
static_assert(kTypes.size() == std::variant_size_v<Body>);

// "HR46": each message type has its own file identifier.
using Identifier = std::array<char, 5>;
constexpr Identifier IdentifierOf(MessageType type) {
  const auto number = static_cast<unsigned>(type);
  return {'H', 'R', static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10), 0};
}

template <typename T>
T TableOf(flatbuffers::Offset<T>);
template <typename Message>
using TableFor = decltype(TableOf(Write(std::declval<Builder&>(), std::declval<const Message&>())));

template <typename Table>
Result<const Table*> Verify(ByteSpan body, const Identifier& identifier) {
  // A table takes at least eight bytes, with the offset that leads to it.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(body.size() / 8 + 1);
  const auto* data = reinterpret_cast<const std::uint8_t*>(body.data());
  flatbuffers::Verifier verifier(data, body.size(), kMaxDepth, max_tables);
  if (!verifier.VerifyBuffer<Table>(identifier.data())) {
    return InvalidArgument(std::string("damaged body, ") + identifier.data() + " of " +
                           std::to_string(body.size()) + " bytes");
  }
  return flatbuffers::GetRoot<Table>(data);
}

template <std::size_t index>
Result<Body> DecodeAs(ByteSpan body) {
  if constexpr (index == 0) {
    return Body();
  } else {
    using Table = TableFor<std::variant_alternative_t<index, Body>>;
    constexpr Identifier identifier = IdentifierOf(kTypes[index]);
    HR_TRY(const Table* table, Verify<Table>(body, identifier));
    Reader reader(body.size());
    Body out(std::in_place_index<index>, Read(reader, table));
    HR_RETURN_IF_ERROR(reader.status().WithContext(identifier.data()));
    return out;
  }
}

using Decoder = Result<Body> (*)(ByteSpan);
template <std::size_t... indices>
constexpr std::array<Decoder, sizeof...(indices)> Decoders(std::index_sequence<indices...>) {
  return {&DecodeAs<indices>...};
}
constexpr auto kDecoders = Decoders(std::make_index_sequence<kTypes.size()>());

// FlatBuffers reads through typed pointers: a body inside a receive buffer may lie at any address.
ByteSpan Aligned(ByteSpan body) {
  if (reinterpret_cast<std::uintptr_t>(body.data()) % 8 == 0) return body;
  static thread_local ScratchBuffer scratch;
  std::uint8_t* copy = scratch.Ensure(body.size());
  std::memcpy(copy, body.data(), body.size());
  return {reinterpret_cast<const std::byte*>(copy), body.size()};
}

std::string VersionText(unsigned version) { return std::to_string(version); }

}  // namespace

MessageType TypeOf(const Body& body) { return kTypes[body.index()]; }

EncodedMessage Encode(const Body& body) {
  const MessageType type = kTypes[body.index()];
  const auto number = static_cast<std::uint16_t>(type);
  EncodedMessage out;
  out.header = {std::byte{'H'},
                std::byte{'R'},
                std::byte{'W'},
                std::byte{kWireVersion},
                static_cast<std::byte>(number & 0xff),
                static_cast<std::byte>(number >> 8),
                std::byte{0},
                std::byte{0}};
  if (type == MessageType::kUnknown) return out;
  Builder& builder = ThreadBuilder();
  std::visit(
      [&]<typename Message>(const Message& message) {
        if constexpr (!std::is_same_v<Message, std::monostate>) {
          builder.Finish(Write(builder, message), IdentifierOf(type).data());
        }
      },
      body);
  out.body = TakeBody(builder);
  return out;
}

Result<Body> Decode(ByteSpan header, ByteSpan body) {
  if (header.size() != kHeaderBytes || std::memcmp(header.data(), kMagic.data(), 3) != 0) {
    return InvalidArgument("not a Headrace message");
  }
  const auto version = static_cast<std::uint8_t>(header[3]);
  if (version != kWireVersion) {
    return OtherRelease("the peer speaks wire version " + VersionText(version) + ", this is " +
                        VersionText(kWireVersion) + ": use the same release on both sides");
  }
  if (header[6] != std::byte{0} || header[7] != std::byte{0}) {
    return InvalidArgument("header with set reserved bytes");
  }
  if (body.size() > kMaxBodyBytes) {
    return InvalidArgument("body of " + std::to_string(body.size()) + " bytes");
  }
  const auto type = static_cast<MessageType>(static_cast<unsigned>(header[4]) |
                                             static_cast<unsigned>(header[5]) << 8);
  const auto* known = std::find(kTypes.begin(), kTypes.end(), type);
  if (known == kTypes.end() || type == MessageType::kUnknown) return Body();
  if (body.size() < 8) return InvalidArgument("truncated body");
  return kDecoders[static_cast<std::size_t>(known - kTypes.begin())](Aligned(body));
}

Bytes EncodePlan(const Plan& plan) {
  Builder& builder = ThreadBuilder();
  builder.Finish(Write(builder, plan), fb::PlanIdentifier());
  return TakeBody(builder);
}

Result<Plan> DecodePlan(ByteSpan bytes) {
  if (bytes.size() < 8 || bytes.size() > kMaxBodyBytes) {
    return InvalidArgument("plan of " + std::to_string(bytes.size()) + " bytes");
  }
  HR_TRY(const fb::Plan* table, Verify<fb::Plan>(Aligned(bytes), {'H', 'R', 'P', 'L', 0}));
  Reader reader(bytes.size());
  Plan plan = Read(reader, table);
  HR_RETURN_IF_ERROR(reader.status().WithContext("plan"));
  return plan;
}

}  // namespace headrace::wire
