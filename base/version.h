#pragma once

#include <string_view>

namespace headrace {

// The version of this release, as `headrace --version` and the messages show it. Must equal the
// project's version in CMakeLists.txt (checked when configuring).
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace headrace
