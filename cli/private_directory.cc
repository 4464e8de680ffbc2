#include "cli/private_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/process/private_directory.h"
#include "base/unique_fd.h"

namespace headrace::cli {
namespace {

// sun_path holds 107 characters. The longest socket name of a worker or coordinator takes 32 of
// them.
constexpr std::size_t kLongestPath = 107 - 32;

}  // namespace

Result<PrivateDirectory> PrivateDirectory::Take(std::string path) {
  if (path.size() > kLongestPath) {
    return InvalidArgument("directory " + path + " has " + std::to_string(path.size()) +
                           " characters; Unix sockets in it allow " + std::to_string(kLongestPath) +
                           ": set TMPDIR to a shorter one");
  }
  HR_RETURN_IF_ERROR(MakePrivateDirectory(path));
  return PrivateDirectory(std::move(path));
}

PrivateDirectory::~PrivateDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;  // nobody can handle an error here
  std::filesystem::remove_all(path_, ignored);
}

Status PrivateDirectory::WriteReady(const std::string& endpoint) const {
  const std::string ready = path_ + "/ready";
  const std::string draft = ready + ".draft";
  const UniqueFd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, draft);
  const std::string text = endpoint + "\n";
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, draft);
  }
  if (::rename(draft.c_str(), ready.c_str()) != 0) return ErrnoStatus(errno, ready);
  return Status::Ok();
}

}  // namespace headrace::cli
