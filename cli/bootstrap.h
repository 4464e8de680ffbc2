#pragma once

#include <string>

#include "base/result.h"

namespace headrace::cli {

// Finds the directory whose sitecustomize.py installs Headrace when Python starts. It is
// `override_dir` if that is given. Else it is in the package: around `binary` (PACKAGE/bin/headrace,
// of a portable wheel), or in lib/python3*/site-packages or dist-packages beside the bin directory
// of `binary`. kNotFound: nothing is there; the message says where it looked and what to do.
[[nodiscard]] Result<std::string> FindBootstrap(const std::string& binary,
                                                const std::string& override_dir);

// PYTHONPATH with `directory` once, at the front.
[[nodiscard]] std::string PrependPath(const std::string& directory, const std::string& path);

}  // namespace headrace::cli
