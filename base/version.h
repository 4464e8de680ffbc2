#pragma once

#include <string_view>

namespace headrace {

// This release, as `headrace --version` and every message that carries a version say it. The same
// as the project's in CMakeLists.txt (checked when configuring).
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace headrace
