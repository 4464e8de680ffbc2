#include "dataworker/worker/private_directory.h"

#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/process/private_directory.h"
#include "base/unique_fd.h"

namespace headrace::dataworker {
namespace {

std::string DefaultDirectory() {
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime != 0) {
    return std::string(runtime) + "/headrace";
  }
  return "/tmp/headrace-" + std::to_string(::getuid());
}

// The process whose socket has this name ("w123.arena", "w123.data", "w123.leaves"), if it is one of a worker.
std::optional<pid_t> OwnerOf(std::string_view name) {
  if (!name.starts_with('w')) return std::nullopt;
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), pid);
  const std::string_view rest(end, static_cast<std::size_t>(name.data() + name.size() - end));
  if (error != std::errc{} || pid <= 0 ||
      (rest != ".arena" && rest != ".data" && rest != ".leaves")) {
    return std::nullopt;
  }
  return pid;
}

bool NobodyListens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd.valid() &&
         ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
         errno == ECONNREFUSED;
}

// A worker that was killed leaves its sockets. Another container's worker may live in a directory
// that we share, under a number that is nobody's here: so its socket is asked too.
void RemoveSocketsOfTheDead(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::optional<pid_t> owner = OwnerOf(entry->d_name);
    if (!owner || ::kill(*owner, 0) == 0 || errno != ESRCH) continue;
    const std::string path = directory + "/" + entry->d_name;
    if (NobodyListens(path)) ::unlink(path.c_str());
  }
}

}  // namespace

Result<std::string> PrivateDirectory(const std::string& given) {
  std::string path = given.empty() ? DefaultDirectory() : given;
  HR_RETURN_IF_ERROR(MakePrivateDirectory(path));
  RemoveSocketsOfTheDead(path);
  return path;
}

}  // namespace headrace::dataworker
