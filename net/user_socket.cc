#include "net/user_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/endpoint_internal.h"

namespace headrace::net {
namespace {

constexpr int kBacklog = 128;
constexpr std::size_t kMostDescriptors = 4;  // takes those of a confused peer; one is right

union ControlBuffer {
  std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> bytes;
  cmsghdr alignment;
};

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Unavailable("'" + path + "' is " + std::to_string(path.size()) +
                       " bytes; a Unix socket's path takes 1 to 107");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<UniqueFd> OpenSocket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "Unix socket");
  return fd;
}

// Removes the socket of a dead process; refuses to touch anything else.
Status FreePath(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return Status::Ok();
  if (!S_ISSOCK(info.st_mode)) return Unavailable(path + " exists and is not a socket");
  if (UnixSocketIsServed(path, SOCK_SEQPACKET)) {
    return Unavailable(path + " is in use by another process");
  }
  if (::unlink(path.c_str()) != 0)
    return Unavailable("cannot remove " + path + ": " + std::strerror(errno));
  return Status::Ok();
}

}  // namespace

Result<UniqueFd> ListenForUser(const std::string& path) {
  HR_TRY(const sockaddr_un address, AddressOf(path));
  HR_RETURN_IF_ERROR(FreePath(path));
  HR_TRY(UniqueFd fd, OpenSocket());
  ::fchmod(fd.get(), 0600);  // before the socket has a name, so that it is always private
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return Unavailable("cannot listen on " + path + ": " + std::strerror(errno));
  }
  return fd;
}

UniqueFd AcceptWaiting(int listener) {
  return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

Result<UniqueFd> ConnectToUser(const std::string& path) {
  HR_TRY(const sockaddr_un address, AddressOf(path));
  HR_TRY(UniqueFd fd, OpenSocket());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Unavailable("nobody answers at " + path + ": " + std::strerror(errno));
  }
  if (!IsSameUser(fd.get())) return Unavailable(path + " is served by another user");
  return fd;
}

bool IsSameUser(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

Status SendPacketTo(int socket, ByteSpan packet, int descriptor) {
  iovec part{.iov_base = const_cast<std::byte*>(packet.data()),  // which takes no const
             .iov_len = packet.size()};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(packet.size())) return Status::Ok();
  if (sent < 0 && errno == EAGAIN) return ResourceExhausted("no room to send a packet");
  return Unavailable(std::string("cannot send a packet: ") + std::strerror(errno));
}

TakenPacket TakePacket(int socket, std::span<std::byte> into) {
  iovec part{.iov_base = into.data(), .iov_len = into.size()};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  ssize_t received;
  do {
    received = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT | MSG_TRUNC);
  } while (received < 0 && errno == EINTR);
  TakenPacket taken;
  if (received < 0) {
    if (errno != EAGAIN) taken.event = TakenPacket::Event::kHangup;
    return taken;
  }
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof(int));
      UniqueFd came(fd);
      if (!taken.descriptor.valid()) taken.descriptor = std::move(came);
    }
  }
  taken.event = received == 0 ? TakenPacket::Event::kHangup : TakenPacket::Event::kPacket;
  taken.bytes = static_cast<std::size_t>(received);
  return taken;
}

}  // namespace headrace::net
