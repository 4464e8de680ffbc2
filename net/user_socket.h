#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"

// AF_UNIX SOCK_SEQPACKET sockets between processes of one user on one host: packets stay apart, may carry a
// descriptor, and a hang-up is seen at once. No call blocks. All descriptors are close-on-exec. Thread-safe.
namespace headrace::net {

// Takes over the path of a dead process. Only this user may connect (0600).
// kUnavailable: the path is over 107 bytes long, or belongs to a live process or to something that is no socket.
[[nodiscard]] Result<UniqueFd> ListenForUser(const std::string& path);

// Takes a connection that waits. Not valid: there is none, or no descriptor for it (errno says which).
[[nodiscard]] UniqueFd AcceptWaiting(int listener);

// kUnavailable: nobody listens there, too many wait, or another user does.
[[nodiscard]] Result<UniqueFd> ConnectToUser(const std::string& path);

// Whether the process at the other end has this process's user id, by the kernel's word (SO_PEERCRED).
[[nodiscard]] bool IsSameUser(int socket);

// `descriptor`: goes along, and is still the caller's; -1: none. kUnavailable: the peer has gone.
// kResourceExhausted: there is no room for it now: the peer has much to read. A later one may go.
[[nodiscard]] Status SendPacketTo(int socket, ByteSpan packet, int descriptor = -1);

struct TakenPacket {
  enum class Event { kPacket, kNothing, kHangup };
  Event event = Event::kNothing;
  // kPacket: the packet's. One that is longer than the room for it has all of its bytes counted, and so is no packet
  // of anybody's.
  std::size_t bytes = 0;
  UniqueFd descriptor;  // the first that came along; others are closed
};
[[nodiscard]] TakenPacket TakePacket(int socket, std::span<std::byte> into);

}  // namespace headrace::net
