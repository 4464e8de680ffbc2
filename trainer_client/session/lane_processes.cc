#include "trainer_client/session/lane_processes.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/log.h"

namespace headrace::client {

Result<UniqueFd> LaneProcesses::Connect(std::size_t lane) const {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  UniqueFd ours(fds[0]), theirs(fds[1]);
  std::uint64_t life = lanes_[lane].life;  // as headrace/stage/lane_requests.py reads it
  iovec vector{.iov_base = &life, .iov_len = sizeof(life)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int passed = theirs.get();
  std::memcpy(CMSG_DATA(header), &passed, sizeof(passed));
  if (::sendmsg(lanes_[lane].control.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    LogDebug("lane=" + std::to_string(lane) +
             " takes no socket error=" + ErrnoStatus(errno, "sendmsg").ToString());
  }
  return ours;
}

}  // namespace headrace::client
