#pragma once

#include <string>

// Text for terminals.
namespace headrace::cli {

// One number through a printf format.
[[nodiscard]] std::string Format(const char* format, double value);
// Text of peers goes to a terminal: nothing in it may steer the terminal.
[[nodiscard]] std::string Plain(std::string text);

}  // namespace headrace::cli
