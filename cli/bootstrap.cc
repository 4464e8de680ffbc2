#include "cli/bootstrap.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

bool IsBootstrap(const fs::path& directory) {
  std::error_code ignored;  // a path that cannot be read counts as missing
  return fs::is_regular_file(directory / "sitecustomize.py", ignored);
}

}  // namespace

Result<std::string> FindBootstrap(const std::string& binary, const std::string& override_dir) {
  if (!override_dir.empty()) {
    std::error_code error;
    if (IsBootstrap(override_dir)) return fs::absolute(override_dir, error).string();
    return NotFound("HEADRACE_BOOTSTRAP_DIR=" + override_dir + " has no sitecustomize.py");
  }
  const fs::path above = fs::path(binary).parent_path().parent_path();
  if (IsBootstrap(above / "bootstrap")) return (above / "bootstrap").string();
  const fs::path lib = above / "lib";
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(lib, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with("python3")) continue;
    // dist-packages: of Debian's own Python.
    for (const char* site : {"site-packages", "dist-packages"}) {
      const fs::path candidate = it->path() / site / "headrace" / "bootstrap";
      if (IsBootstrap(candidate)) found.push_back(candidate);
    }
  }
  if (!found.empty()) return std::max_element(found.begin(), found.end())->string();
  return NotFound("the Python package headrace is not installed beside " + binary +
                  " (looked for " + (lib / "python3*/site-packages/headrace/bootstrap").string() +
                  "); install it with pip, or set HEADRACE_BOOTSTRAP_DIR");
}

std::string PrependPath(const std::string& directory, const std::string& path) {
  if (path.empty()) return directory;
  if (path == directory || path.starts_with(directory + ":")) return path;
  return directory + ":" + path;
}

}  // namespace headrace::cli
