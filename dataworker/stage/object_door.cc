#include "dataworker/stage/object_door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"

namespace headrace::dataworker {
namespace {

// A question is some names. Text of a store's error is no longer.
constexpr std::size_t kMostQuestionBytes = std::size_t{64} << 10;
constexpr std::size_t kMostMessageBytes = std::size_t{4} << 10;
// Processes that come in one turn of the reactor.
constexpr int kMostATurn = 32;

bool IsStream(int fd) {
  const auto is = [&](int option, int value) {
    int found = -1;
    socklen_t size = sizeof(found);
    return ::getsockopt(fd, SOL_SOCKET, option, &found, &size) == 0 && found == value;
  };
  return is(SO_DOMAIN, AF_UNIX) && is(SO_TYPE, SOCK_STREAM);
}

// Takes what one process has passed; none: there is nothing more now.
bool TakePassed(int door, std::vector<UniqueFd>& passed) {
  char byte = 0;
  iovec part{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t received;
  do {
    received = ::recvmsg(door, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return false;
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof(fd));
      passed.emplace_back(fd);
    }
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<ObjectDoor>> ObjectDoor::Open(net::Reactor& reactor, OnAsk on_ask) {
  std::array<int, 2> fds{};
  // Of datagrams: what two processes pass at once stays apart.
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  std::unique_ptr<ObjectDoor> door(
      new ObjectDoor(reactor, UniqueFd(fds[0]), UniqueFd(fds[1]), std::move(on_ask)));
  door->Watch(true);
  return door;
}

ObjectDoor::~ObjectDoor() {
  Watch(false);
  for (const auto& [id, connection] : connections_) reactor_.UnwatchFd(connection.socket.fd());
}

void ObjectDoor::Watch(bool watch) {
  if (watch == watched_) return;
  watched_ = watch;
  if (watch) {
    reactor_.WatchFd(ours_.get(), [this] { OnDoor(); });
  } else {
    reactor_.UnwatchFd(ours_.get());
  }
}

bool ObjectDoor::MakeRoom() {
  if (connections_.size() < kMostConnections) return true;
  const auto free =
      std::ranges::find_if(connections_, [](const auto& entry) { return entry.second.free(); });
  if (free == connections_.end()) return false;
  HangUp(free->first);
  return true;
}

void ObjectDoor::OnDoor() {
  for (int i = 0; i < kMostATurn; ++i) {
    if (!MakeRoom()) {
      Watch(false);  // until one is free
      return;
    }
    std::vector<UniqueFd> passed;
    if (!TakePassed(ours_.get(), passed)) return;
    if (passed.size() == 1 && IsStream(passed[0].get())) Let(std::move(passed[0]));
  }
}

void ObjectDoor::Let(UniqueFd socket) {
  Result<FrameSocket> adopted = FrameSocket::Adopt(std::move(socket), kMostQuestionBytes);
  if (!adopted.ok()) return;  // its process has gone
  const std::uint64_t id = next_++;
  const int fd = adopted->fd();
  connections_.emplace(id, Connection(std::move(adopted).value()));
  reactor_.WatchFd(fd, [this, id] { OnReadable(id); });
}

void ObjectDoor::OnReadable(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  std::vector<StageFrame> frames;
  Status status =
      found->second.socket.Receive([&](StageFrame&& frame) { frames.push_back(std::move(frame)); });
  for (const StageFrame& frame : frames) {
    if (!connections_.contains(id)) return;
    if (Status read = OnFrame(id, frame); !read.ok()) {
      status = std::move(read);
      break;
    }
  }
  if (status.ok()) return;
  if (status.code() == Code::kInvalidArgument) {
    LogWarning("a process of a stage is hung up on error=\"" + status.ToString() + "\"");
  }
  if (connections_.contains(id)) HangUp(id);
  Watch(true);
}

Status ObjectDoor::OnFrame(std::uint64_t id, const StageFrame& frame) {
  Connection& connection = connections_.at(id);
  if (frame.kind == StageMessage::kTaken && frame.parts.empty() && connection.untaken) {
    connection.untaken.reset();
    Watch(true);
    return {};
  }
  if (!connection.free()) return InvalidArgument("a question before the answer to the last one");
  HR_TRY(ObjectAsk ask, ObjectAsk::Read(frame));
  connection.asked = true;
  on_ask_(id, std::move(ask), connection.socket.TakePassed());
  return {};
}

void ObjectDoor::Answer(std::uint64_t id, ObjectTold told) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  connection.asked = false;
  const std::array<std::uint64_t, 4> numbers{static_cast<std::uint64_t>(told.status.code()),
                                             static_cast<std::uint64_t>(told.status.detail()),
                                             told.size, told.count};
  const std::string_view why = told.status.message();
  const std::array<ByteSpan, 4> parts{std::as_bytes(std::span(numbers)),
                                      AsBytes(why.substr(0, kMostMessageBytes)),
                                      AsBytes(told.version), told.few};
  const int memory = told.memory.get();
  const Status sent = connection.socket.Send(
      StageMessage::kAnswer, parts, std::span(&memory, told.memory.valid() ? std::size_t{1} : 0));
  if (told.memory.valid()) {
    connection.untaken = told.hold ? std::move(told.hold) : std::make_shared<const int>(0);
  }
  if (!sent.ok()) HangUp(id);
  Watch(true);
}

void ObjectDoor::HangUp(std::uint64_t id) {
  const auto found = connections_.find(id);
  reactor_.UnwatchFd(found->second.socket.fd());
  connections_.erase(found);
}

}  // namespace headrace::dataworker
