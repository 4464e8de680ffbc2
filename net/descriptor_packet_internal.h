#pragma once

#include <string>

#include "net/descriptor_channel.h"

// One packet on the arena socket: 40 bytes, little endian, with one descriptor.
namespace headrace::net {

enum class PacketEvent { kMessage, kNothing, kHangup, kInvalid };

struct ReceivedPacket {
  PacketEvent event = PacketEvent::kNothing;
  DescriptorMessage message;  // kMessage
  UniqueFd fd;                // kMessage
  std::string complaint;      // kInvalid
};

[[nodiscard]] Status SendPacket(int socket, const DescriptorMessage& message, int fd);
// Does not block. kMessage: the memory's size and seal were checked.
[[nodiscard]] ReceivedPacket ReceivePacket(int socket);

}  // namespace headrace::net
