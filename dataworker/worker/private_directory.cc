#include "dataworker/worker/private_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace headrace::dataworker {
namespace {

std::string DefaultDirectory() {
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime != 0) {
    return std::string(runtime) + "/headrace";
  }
  return "/tmp/headrace-" + std::to_string(::getuid());
}

}  // namespace

// Others must not be able to connect, or to put a socket of theirs in our place.
Result<std::string> PrivateDirectory(const std::string& given) {
  std::string path = given.empty() ? DefaultDirectory() : given;
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, path);
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(st.st_mode) || st.st_uid != ::getuid() || (st.st_mode & 077) != 0) {
    return InvalidArgument(path + " is not a directory that only this user can use (mode 0700)");
  }
  return path;
}

}  // namespace headrace::dataworker
