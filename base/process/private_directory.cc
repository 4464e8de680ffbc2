#include "base/process/private_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace headrace {

Status MakePrivateDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, path);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::getuid() || (info.st_mode & 0077) != 0) {
    return InvalidArgument(path + " is not a directory that only this user can use (mode 0700)");
  }
  return Status::Ok();
}

}  // namespace headrace
