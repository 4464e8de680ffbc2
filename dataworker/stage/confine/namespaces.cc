#include "dataworker/stage/confine/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>

#include "base/unique_fd.h"

namespace headrace::dataworker {
namespace {

Status Refused(int error, const std::string& what) {
  return Unsupported(ErrnoStatus(error, what).message());
}

bool Write(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string One(std::uint64_t number) {
  return std::to_string(number) + " " + std::to_string(number) + " 1\n";
}

// Each number that this namespace knows, as itself.
std::string Same(const std::string& map) {
  std::ifstream file(map);
  std::string same;
  for (std::uint64_t inside = 0, outside = 0, count = 0; file >> inside >> outside >> count;) {
    same +=
        std::to_string(inside) + " " + std::to_string(inside) + " " + std::to_string(count) + "\n";
  }
  return same;
}

struct Maps {
  std::string users, groups;
  [[nodiscard]] bool WriteFor(const std::string& process) const {
    return Write(process + "/uid_map", users) && Write(process + "/gid_map", groups);
  }
};

// Who has no rights may map himself, from within.
Status EnterAsUser(const Maps& maps) {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return Refused(errno, "make namespaces");
  if (!Write("/proc/self/setgroups", "deny") || !maps.WriteFor("/proc/self")) {
    return Refused(errno, "map the user");
  }
  return {};
}

// Another user, or more than one, is mapped by a process that stayed outside.
Status EnterAsRoot(const Maps& maps) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  UniqueFd outside(ends[0]), inside(ends[1]);
  const std::string process = "/proc/" + std::to_string(::getpid());
  const pid_t helper = ::fork();
  if (helper < 0) return ErrnoStatus(errno, "fork");
  if (helper == 0) {
    inside.reset();
    char word = 0;
    if (::read(outside.get(), &word, 1) != 1) ::_exit(0);  // the other has failed
    ::_exit(maps.WriteFor(process) ? 0 : errno);
  }
  const int error = ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ? errno : 0;
  if (error == 0 && ::write(inside.get(), "", 1) != 1) return ErrnoStatus(errno, "pipe");
  inside.reset();
  int status = 0;
  while (::waitpid(helper, &status, 0) < 0 && errno == EINTR) {
  }
  if (error != 0) return Refused(error, "make namespaces");
  if (status != 0) return Refused(WIFEXITED(status) ? WEXITSTATUS(status) : EINTR, "map the user");
  return {};
}

}  // namespace

Status EnterNamespaces(const Identity& who) {
  if (::geteuid() != 0) return EnterAsUser({One(who.user), One(who.group)});
  if (who.user != 0) return EnterAsRoot({One(who.user), One(who.group)});
  return EnterAsRoot({Same("/proc/self/uid_map"), Same("/proc/self/gid_map")});
}

}  // namespace headrace::dataworker
