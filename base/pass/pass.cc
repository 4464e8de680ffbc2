#include "base/pass/pass.h"

#include <sodium/crypto_generichash.h>

#include <array>

#include "base/check.h"

namespace headrace {

std::string PassOf(std::string_view worker_token, JobId job) {
  // A key may have at most 64 bytes, and a token is whatever its worker says. So the token is hashed
  // first, to a key of one length.
  std::array<unsigned char, crypto_generichash_KEYBYTES> key{};
  const auto* token = reinterpret_cast<const unsigned char*>(worker_token.data());
  HR_CHECK(crypto_generichash(key.data(), key.size(), token, worker_token.size(), nullptr, 0) == 0);
  const std::string text = "attach as job " + std::to_string(job.value);
  std::array<unsigned char, 16> pass{};
  HR_CHECK(crypto_generichash(pass.data(), pass.size(),
                              reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                              key.data(), key.size()) == 0);
  std::string hex;
  for (const unsigned char byte : pass) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

}  // namespace headrace
