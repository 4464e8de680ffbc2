#include "base/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace headrace {
namespace {

// The length of the character at the front that may be shown; 0: none is there.
std::size_t PlainCharacter(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = at(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  std::uint32_t code = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  // More control characters, and those that break lines or turn the direction of what follows.
  const bool control = code < 0xa0 || code == 0x2028 || code == 0x2029 ||
                       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return control ? 0 : size;
}

}  // namespace

std::string HexText(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); value > 0; value >>= 4) text[--i] = kDigits[value & 15];
  return text;
}

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = PlainCharacter(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string PlainText(std::string_view text, std::size_t most) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kEnd = "...";
  std::string plain;
  std::size_t room = 0;  // what is before the end, if there is one
  while (!text.empty()) {
    const std::size_t size = PlainCharacter(text);
    if (size > 0) {
      plain.append(text.substr(0, size));
    } else {
      const auto byte = static_cast<std::uint8_t>(text[0]);
      plain.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
    if (plain.size() > most) {
      plain.resize(room);
      return plain.append(kEnd);
    }
    if (plain.size() + kEnd.size() <= most) room = plain.size();
  }
  return plain;
}

}  // namespace headrace
