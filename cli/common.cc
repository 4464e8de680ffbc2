#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"

namespace headrace::cli {

int Fail(const Status& status) {
  std::string line = status.message();
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "headrace: %s\n", line.c_str());
  return 1;
}

Status CheckAddress(const std::string& address) {
  const bool ipc = address.starts_with("ipc://") && address.size() > 6;
  const bool tcp = address.starts_with("tcp://") && address.rfind(':') > 6;
  if (ipc || tcp) return Status::Ok();
  return InvalidArgument("'" + address +
                         "' is not an address; write tcp://HOST:PORT or ipc://PATH");
}

Result<std::string> CoordinatorAddress(const std::string& option) {
  std::string address = option;
  if (address.empty()) {
    const char* env = std::getenv("HEADRACE_COORDINATOR");
    if (env != nullptr) address = env;
  }
  if (address.empty()) {
    return InvalidArgument(
        "which coordinator? give --coordinator tcp://HOST:PORT or set HEADRACE_COORDINATOR");
  }
  HR_RETURN_IF_ERROR(CheckAddress(address));
  return address;
}

std::string KeysDirectory(const std::string& address) {
  const char* keys = std::getenv("HEADRACE_KEYS");
  return keys == nullptr || !address.starts_with("tcp://") ? "" : keys;
}

Result<std::string> OwnPath() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length < 0) return ErrnoStatus(errno, "/proc/self/exe");
  return std::string(path.data(), static_cast<std::size_t>(length));
}

}  // namespace headrace::cli
