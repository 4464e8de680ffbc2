#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Parts of JSON as text, for frames that are made each second of thousands of rows. Pure.
namespace headrace::web {

// A number; null where it is none, or infinite.
void AppendNumber(std::string& to, double value);
void AppendNumber(std::string& to, std::int64_t value);
void AppendNumber(std::string& to, std::uint64_t value);
// In quotes. What is no UTF-8 is replaced; control characters are escaped.
void AppendText(std::string& to, std::string_view text);

// To so many significant digits: what a page shows changes less often than what was measured.
[[nodiscard]] double Rounded(double value, int digits = 3);

}  // namespace headrace::web
