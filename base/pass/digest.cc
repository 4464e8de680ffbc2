#include "base/pass/digest.h"

#include <sodium/crypto_generichash.h>

#include "base/check.h"

namespace headrace {

Digest DigestOf(std::span<const ByteSpan> parts) {
  crypto_generichash_state state;
  Digest digest{};
  HR_CHECK(crypto_generichash_init(&state, nullptr, 0, sizeof(digest)) == 0);
  const auto add = [&state](ByteSpan bytes) {
    HR_CHECK(crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()),
                                       bytes.size()) == 0);
  };
  for (const ByteSpan part : parts) {
    const std::uint64_t size = part.size();
    add(std::as_bytes(std::span(&size, 1)));
    add(part);
  }
  HR_CHECK(crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(digest.data()),
                                    sizeof(digest)) == 0);
  return digest;
}

}  // namespace headrace
