#include "dataworker/stage/frame_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/version.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kHeadBytes = 12;
constexpr std::array<char, 3> kMagic{'H', 'R', 'S'};
constexpr std::size_t kMostReleaseBytes = 100;
constexpr std::uint32_t kMostParts = 16;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;
// Bounds one turn of the reactor; the next turn reads the rest.
constexpr std::size_t kMostBytesATurn = std::size_t{8} << 20;

void AppendRaw(Bytes& out, const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  out.insert(out.end(), begin, begin + bytes);
}

}  // namespace

Bytes EncodeStageFrame(StageMessage kind, std::span<const ByteSpan> parts) {
  Bytes frame;
  frame.reserve(256);
  AppendRaw(frame, kMagic.data(), kMagic.size());
  AppendRaw(frame, &kStageProtocol, sizeof(kStageProtocol));
  const std::array<std::uint32_t, 2> head{static_cast<std::uint32_t>(kind),
                                          static_cast<std::uint32_t>(parts.size())};
  AppendRaw(frame, head.data(), sizeof(head));
  for (const ByteSpan part : parts) {
    const std::uint64_t size = part.size();
    AppendRaw(frame, &size, sizeof(size));
  }
  for (const ByteSpan part : parts) AppendRaw(frame, part.data(), part.size());
  return frame;
}

Result<std::pair<FrameSocket, UniqueFd>> FrameSocket::MakePair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  UniqueFd ours(fds[0]), theirs(fds[1]);
  HR_TRY(FrameSocket socket, Adopt(std::move(ours)));
  return std::pair<FrameSocket, UniqueFd>(std::move(socket), std::move(theirs));
}

Result<FrameSocket> FrameSocket::Adopt(UniqueFd fd, std::size_t most) {
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return ErrnoStatus(errno, "fcntl");
  FrameSocket socket(std::move(fd), most);
  const std::array<ByteSpan, 1> release{AsBytes(kVersion)};
  HR_RETURN_IF_ERROR(socket.Send(StageMessage::kHello, release));
  return socket;
}

std::string FrameSocket::Releases() const {
  return "this worker is release " + std::string(kVersion) + ", its Python process " +
         (peer_release_.empty() ? std::string("of an unknown one") : "release " + peer_release_);
}

Status FrameSocket::Send(StageMessage kind, std::span<const ByteSpan> parts,
                         std::span<const int> passed) {
  HR_CHECK(passed.size() <= kMostPassed);
  Bytes frame = EncodeStageFrame(kind, parts);
  iovec vector{.iov_base = frame.data(), .iov_len = frame.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostPassed * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (!passed.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(passed.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(passed.size_bytes());
    std::memcpy(CMSG_DATA(header), passed.data(), passed.size_bytes());
  }
  const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return ErrnoStatus(errno, "send to a stage host");
  if (static_cast<std::size_t>(sent) != frame.size()) {
    return Unavailable("a stage host does not read");
  }
  return {};
}

Result<bool> FrameSocket::TakeFrame(StageFrame* frame) {
  if (filled_ < kHeadBytes) return false;
  std::array<char, 4> magic{};
  std::memcpy(magic.data(), incoming_.data(), magic.size());
  if (!std::equal(kMagic.begin(), kMagic.end(), magic.begin())) {
    return InvalidArgument("a frame of another kind");
  }
  const auto protocol = static_cast<std::uint8_t>(magic[3]);
  std::array<std::uint32_t, 2> head{};
  std::memcpy(head.data(), incoming_.data() + magic.size(), sizeof(head));
  if (head[1] > kMostParts) return InvalidArgument("a frame with too many parts");
  const std::size_t sizes_end = kHeadBytes + head[1] * sizeof(std::uint64_t);
  if (filled_ < sizes_end) return false;
  std::vector<std::uint64_t> sizes(head[1]);
  if (!sizes.empty()) {
    std::memcpy(sizes.data(), incoming_.data() + kHeadBytes, sizes_end - kHeadBytes);
  }
  std::uint64_t total = sizes_end;
  for (const std::uint64_t size : sizes) {
    if (size > most_ || total > most_) {
      return InvalidArgument("a frame of more than " + std::to_string(most_) + " bytes");
    }
    total += size;
  }
  if (filled_ < total) return false;
  const bool hello = head[0] == static_cast<std::uint32_t>(StageMessage::kHello);
  if (hello && head[1] == 1) {
    const auto text = ByteSpan(incoming_).subspan(sizes_end, sizes[0]);
    peer_release_ = AsText(text.first(std::min(text.size(), kMostReleaseBytes)));
  }
  if (protocol != kStageProtocol) {
    return InvalidArgument("a Python process speaks stage protocol " + std::to_string(protocol) +
                           ", not " + std::to_string(kStageProtocol) + ": " + Releases() +
                           "; use one release on both sides");
  }
  frame->kind = static_cast<StageMessage>(head[0]);
  frame->parts.clear();
  std::size_t at = sizes_end;
  for (const std::uint64_t size : sizes) {
    frame->parts.push_back(CopyBytes(ByteSpan(incoming_).subspan(at, size)));
    at += size;
  }
  std::memmove(incoming_.data(), incoming_.data() + at, filled_ - at);
  filled_ -= at;
  if (filled_ == 0 && incoming_.size() > 4 * kReadBytes) Bytes().swap(incoming_);
  return true;
}

ssize_t FrameSocket::Read(std::size_t most) {
  iovec part{.iov_base = incoming_.data() + filled_, .iov_len = most};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostPassed * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t n = ::recvmsg(fd_.get(), &header, MSG_CMSG_CLOEXEC);
  if (n <= 0) return n;
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof(fd));
      passed_ = UniqueFd(fd);
    }
  }
  return n;
}

Status FrameSocket::Receive(const std::function<void(StageFrame&&)>& on_frame) {
  Status end;
  std::size_t taken = 0;
  const std::size_t read_bytes = std::min(kReadBytes, most_);
  while (end.ok() && taken < std::min(kMostBytesATurn, 2 * most_)) {
    // Grows by doubling, so that a large frame is not moved too often.
    if (incoming_.size() - filled_ < read_bytes) {
      incoming_.resize(std::max(2 * incoming_.size(), 2 * read_bytes));
    }
    const ssize_t n = Read(incoming_.size() - filled_);
    if (n > 0) {
      filled_ += static_cast<std::size_t>(n);
      taken += static_cast<std::size_t>(n);
    } else if (n == 0) {
      end = Unavailable("the stage host has ended");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      end = ErrnoStatus(errno, "receive from a stage host");
    }
  }
  // What came before the end counts.
  while (true) {
    StageFrame frame;
    const Result<bool> whole = TakeFrame(&frame);
    if (!whole.ok()) return whole.status();
    if (!*whole) return end;
    if (frame.kind != StageMessage::kHello) on_frame(std::move(frame));
  }
}

}  // namespace headrace::dataworker
