#include <sys/stat.h>

#include "net/key_files_internal.h"

namespace headrace::net {

Status JudgeKeyPart(KeyPart part, const std::string& path, mode_t mode, uid_t owner, uid_t user) {
  const bool directory = part == KeyPart::kDirectory;
  if (directory ? !S_ISDIR(mode) : !S_ISREG(mode)) {
    return InvalidArgument(path + " is not a " + (directory ? "directory" : "file"));
  }
  if (owner != 0 && owner != user) {
    return InvalidArgument(path + " belongs to another user; chown it to the one that runs this");
  }
  const bool writable = (mode & (S_IWGRP | S_IWOTH)) != 0;
  switch (part) {
    case KeyPart::kDirectory:
      if (!writable || (mode & S_ISVTX) != 0) return {};
      return InvalidArgument(path + " is a directory that other users may write; chmod 700 it");
    case KeyPart::kSecret:
      if (!writable && (mode & S_IROTH) == 0 && (owner == 0 || (mode & S_IRGRP) == 0)) return {};
      return InvalidArgument(path + " is a key that other users may read or write; chmod 600 it");
    case KeyPart::kAllow:
      if (!writable) return {};
      return InvalidArgument(path + " is a list that other users may write; chmod 600 it");
  }
  return {};
}

}  // namespace headrace::net
