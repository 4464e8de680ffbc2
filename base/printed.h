#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace headrace {

// A few numbers by a printf format; 127 bytes at most.
template <typename... Values>
[[nodiscard]] std::string Printed(const char* format, Values... values) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

}  // namespace headrace
