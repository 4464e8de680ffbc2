#pragma once

#include <span>
#include <string>
#include <string_view>

// Words that nobody can guess. Thread-safe.
namespace headrace {

// Two digits a byte, in lower case.
[[nodiscard]] std::string Hex(std::span<const unsigned char> bytes);

// 128 random bits of the kernel, in hex.
[[nodiscard]] std::string MakeToken();

// Whether two secrets are the same. The time it takes does not tell where they differ. An empty one is
// none: it is the same as no other.
[[nodiscard]] bool SameSecret(std::string_view a, std::string_view b);

}  // namespace headrace
