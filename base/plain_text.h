#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

// Longest name that a peer has in our logs, tables and metrics.
inline constexpr std::size_t kMostNameBytes = 256;

// `text` as one line of valid UTF-8 without control characters: each byte of theirs, and each that is
// no UTF-8, becomes \xNN. Of a text that is longer than `most` bytes then, the end becomes "...".
[[nodiscard]] std::string PlainText(std::string_view text, std::size_t most = std::string::npos);

// 16 hex digits, as people see the hash of something.
[[nodiscard]] std::string HexText(std::uint64_t value);

// Whether PlainText changes nothing but the length.
[[nodiscard]] bool IsPlainText(std::string_view text);

}  // namespace headrace
