#pragma once

#include <string>

#include "base/result.h"

namespace headrace::cli {

// The directory whose sitecustomize.py installs Headrace when Python starts: `override_dir` if
// given, else lib/python3*/site-packages/headrace/bootstrap beside the bin directory of `binary`.
// kNotFound: nothing there; the message says where it looked and what to do.
[[nodiscard]] Result<std::string> FindBootstrap(const std::string& binary,
                                                const std::string& override_dir);

// PYTHONPATH with `directory` in front, once.
[[nodiscard]] std::string PrependPath(const std::string& directory, const std::string& path);

}  // namespace headrace::cli
