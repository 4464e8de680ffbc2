#include "base/pass/pass.h"

#include <sodium/crypto_generichash.h>

#include <array>

#include "base/check.h"
#include "base/secret.h"

namespace headrace {

namespace {

// BLAKE2b makes 16 bytes at least.
using Hash = std::array<unsigned char, crypto_generichash_BYTES_MIN>;

// Of a text, for those who have the token.
Hash KeyedHash(std::string_view token, const std::string& text) {
  // A key may have at most 64 bytes, and a token is whatever its maker says. So the token is hashed
  // first, to a key of one length.
  std::array<unsigned char, crypto_generichash_KEYBYTES> key{};
  HR_CHECK(crypto_generichash(key.data(), key.size(),
                              reinterpret_cast<const unsigned char*>(token.data()), token.size(),
                              nullptr, 0) == 0);
  Hash hash{};
  HR_CHECK(crypto_generichash(hash.data(), hash.size(),
                              reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                              key.data(), key.size()) == 0);
  return hash;
}

}  // namespace

std::string PassOf(std::string_view worker_token, JobId job) {
  return Hex(KeyedHash(worker_token, "attach as job " + std::to_string(job.value)));
}

std::string PeerPassOf(std::string_view worker_token, JobId job, WorkerId asker) {
  return Hex(KeyedHash(worker_token, "samples of job " + std::to_string(job.value) +
                                         " for worker " + std::to_string(asker.value)));
}

std::string WidePassOf(std::string_view worker_token, JobId job, WorkerId asker) {
  return Hex(KeyedHash(worker_token, "named samples of job " + std::to_string(job.value) +
                                         " for worker " + std::to_string(asker.value)));
}

std::int64_t PublicNumberOf(std::string_view job_token, SessionId session) {
  std::int64_t number = 0;
  const Hash hash = KeyedHash(job_token, "number of session " + std::to_string(session.value));
  for (std::size_t i = 0; i < 6; ++i) number = number << 8 | hash[i];
  return number;
}

}  // namespace headrace
