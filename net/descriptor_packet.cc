#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "net/descriptor_packet_internal.h"

namespace headrace::net {
namespace {

constexpr std::uint32_t kMagic = 0x31445248;  // "HRD1": the last character is the version
constexpr std::size_t kMaxDescriptors = 4;    // takes those of a confused peer; one is right

struct Packet {
  std::uint32_t magic;
  std::uint32_t kind;
  std::int64_t session;
  std::int64_t hash;
  std::uint64_t bytes;  // for a lane: its set
  std::uint64_t pid;    // for a lane; else 0
};
static_assert(sizeof(Packet) == 40);

union ControlBuffer {
  std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> bytes;
  cmsghdr alignment;
};

// Says why a lane's process can't be at the other end. Empty: it may be.
std::string LaneComplaint(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return "a lane that is no socket";
  return type == SOCK_STREAM ? "" : "a lane with a socket of another type";
}

// Takes every descriptor out of the message, so that none leaks.
std::vector<UniqueFd> TakeDescriptors(msghdr& header) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

// Says why the memory may not be mapped. Empty: it may be mapped.
std::string MemoryComplaint(int fd, std::uint64_t bytes) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return "not a memfd";
  if ((seals & F_SEAL_SHRINK) == 0) return "memory that is not sealed against shrinking";
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_size < 0) return "memory of unknown size";
  if (bytes == 0 || bytes > static_cast<std::uint64_t>(info.st_size)) {
    return "memory of " + std::to_string(info.st_size) + " bytes, announced as " +
           std::to_string(bytes);
  }
  return {};
}

ReceivedPacket Invalid(std::string complaint) {
  ReceivedPacket out;
  out.event = PacketEvent::kInvalid;
  out.complaint = std::move(complaint);
  return out;
}

ReceivedPacket Lane(const Packet& packet, UniqueFd fd) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (packet.session < 0 || packet.hash < 0 || packet.hash > kMost || packet.bytes == 0 ||
      packet.pid == 0 || packet.pid > static_cast<std::uint64_t>(kMost)) {
    return Invalid("bad session, lane, set or process");
  }
  if (std::string complaint = LaneComplaint(fd.get()); !complaint.empty()) {
    return Invalid(std::move(complaint));
  }
  ReceivedPacket out;
  out.event = PacketEvent::kMessage;
  out.message = {.kind = DescriptorMessage::Kind::kLane,
                 .session = SessionId(packet.session),
                 .lane = static_cast<std::int32_t>(packet.hash),
                 .lane_set = packet.bytes,
                 .pid = static_cast<std::int64_t>(packet.pid)};
  out.fd = std::move(fd);
  return out;
}

}  // namespace

Status SendPacket(int socket, const DescriptorMessage& message, int fd) {
  const bool lane = message.kind == DescriptorMessage::Kind::kLane;
  Packet packet{.magic = kMagic,
                .kind = static_cast<std::uint32_t>(message.kind),
                .session = message.session.value,
                .hash = lane ? message.lane : message.hash.value,
                .bytes = lane ? message.lane_set : message.bytes,
                .pid = lane ? static_cast<std::uint64_t>(message.pid) : 0};
  iovec part{.iov_base = &packet, .iov_len = sizeof(packet)};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = CMSG_SPACE(sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
  ssize_t sent;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == sizeof(packet)) return Status::Ok();
  return Unavailable(std::string("cannot pass a descriptor to the worker: ") +
                     std::strerror(errno));
}

ReceivedPacket ReceivePacket(int socket) {
  Packet packet{};
  iovec part{.iov_base = &packet, .iov_len = sizeof(packet)};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  ssize_t received;
  do {
    received = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  ReceivedPacket out;
  if (received < 0) {
    out.event = errno == EAGAIN ? PacketEvent::kNothing : PacketEvent::kHangup;
    return out;
  }
  std::vector<UniqueFd> fds = TakeDescriptors(header);
  if (received == 0) {
    out.event = PacketEvent::kHangup;
    return out;
  }
  if (received != sizeof(packet) || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      packet.magic != kMagic) {
    return Invalid("a packet of another kind");
  }
  if (fds.size() != 1) return Invalid(std::to_string(fds.size()) + " descriptors, not one");
  const auto kind = static_cast<DescriptorMessage::Kind>(packet.kind);
  if (kind == DescriptorMessage::Kind::kLane) return Lane(packet, std::move(fds[0]));
  if (kind != DescriptorMessage::Kind::kArena && kind != DescriptorMessage::Kind::kBlob) {
    return Invalid("memory of unknown kind " + std::to_string(packet.kind));
  }
  if (packet.session < 0 || packet.hash < -1 || packet.pid != 0) {
    return Invalid("bad session or hash");
  }
  if (std::string complaint = MemoryComplaint(fds[0].get(), packet.bytes); !complaint.empty()) {
    return Invalid(std::move(complaint));
  }
  out.event = PacketEvent::kMessage;
  out.message = {.kind = kind,
                 .session = SessionId(packet.session),
                 .hash = BlobHash(packet.hash),
                 .bytes = packet.bytes};
  out.fd = std::move(fds[0]);
  return out;
}

}  // namespace headrace::net
