#include "dataworker/worker/local_turn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/buffer.h"
#include "base/hash.h"

namespace headrace::dataworker {
namespace {

constexpr int kLookEveryMs = 500;  // no wait covers both a lock and a descriptor

}  // namespace

Result<std::optional<UniqueFd>> AwaitLocalTurn(const std::string& directory,
                                               const std::string& coordinator, int stop,
                                               int parent) {
  const std::string path =
      directory + "/local-" + std::to_string(HashBlob(AsBytes(coordinator)).value) + ".lock";
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return ErrnoStatus(errno, path);
  for (;;) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return std::optional(std::move(lock));
    if (errno != EWOULDBLOCK && errno != EINTR) return ErrnoStatus(errno, path);
    std::array<pollfd, 2> polls{pollfd{stop, POLLIN, 0}, pollfd{parent, POLLIN, 0}};
    (void)::poll(polls.data(), polls.size(), kLookEveryMs);
    if (polls[0].revents != 0 || polls[1].revents != 0) return std::optional<UniqueFd>();
  }
}

}  // namespace headrace::dataworker
