#pragma once

#include <string_view>

namespace headrace::coordinator {

// ray_helper.py, for an interpreter.
[[nodiscard]] std::string_view RayHelperText();

}  // namespace headrace::coordinator
