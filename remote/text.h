#pragma once

#include <string_view>

namespace headrace::remote {

// Without white space at its ends.
[[nodiscard]] inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace headrace::remote
