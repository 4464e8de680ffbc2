#include "base/secret.h"

#include <sys/random.h>

#include <array>
#include <cstddef>

#include "base/check.h"

namespace headrace {

std::string Hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string MakeToken() {
  std::array<unsigned char, 16> bits{};
  // Never short for so few bytes, once the kernel has some.
  HR_CHECK(::getrandom(bits.data(), bits.size(), 0) == static_cast<ssize_t>(bits.size()));
  return Hex(bits);
}

bool SameSecret(std::string_view a, std::string_view b) {
  if (a.empty() || a.size() != b.size()) return false;
  unsigned differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differ == 0;
}

}  // namespace headrace
