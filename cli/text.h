#pragma once

#include <string>

// Text for terminals.
namespace headrace::cli {

// Formats one number with a printf format.
[[nodiscard]] std::string Format(const char* format, double value);
// Replaces control characters, so that a peer's text cannot steer the terminal.
[[nodiscard]] std::string Plain(std::string text);

}  // namespace headrace::cli
