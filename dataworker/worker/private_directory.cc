#include "dataworker/worker/private_directory.h"

#include <unistd.h>

#include <cstdlib>

#include "base/process/private_directory.h"

namespace headrace::dataworker {
namespace {

std::string DefaultDirectory() {
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime != 0) {
    return std::string(runtime) + "/headrace";
  }
  return "/tmp/headrace-" + std::to_string(::getuid());
}

}  // namespace

Result<std::string> PrivateDirectory(const std::string& given) {
  std::string path = given.empty() ? DefaultDirectory() : given;
  HR_RETURN_IF_ERROR(MakePrivateDirectory(path));
  return path;
}

}  // namespace headrace::dataworker
