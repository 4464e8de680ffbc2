#include "remote/sigv4.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/secret.h"

namespace headrace::remote {
namespace {

using Digest = std::array<unsigned char, crypto_hash_sha256_BYTES>;

const unsigned char* Data(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Digest Sha256(std::string_view text) {
  Digest digest;
  crypto_hash_sha256(digest.data(), Data(text), text.size());
  return digest;
}

Digest Hmac(std::string_view key, std::string_view text) {
  crypto_auth_hmacsha256_state state;
  Digest digest;
  crypto_auth_hmacsha256_init(&state, Data(key), key.size());
  crypto_auth_hmacsha256_update(&state, Data(text), text.size());
  crypto_auth_hmacsha256_final(&state, digest.data());
  return digest;
}

std::string_view AsKey(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

using Headers = std::vector<std::pair<std::string, std::string>>;

Headers Sorted(Headers headers) {
  std::ranges::sort(headers);
  return headers;
}

std::string Names(const Headers& sorted) {
  std::string names;
  for (const auto& [name, value] : sorted) names += (names.empty() ? "" : ";") + name;
  return names;
}

}  // namespace

std::string SigningTime(std::int64_t millis) {
  const std::time_t seconds = millis / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {text.data(), size};
}

std::string CanonicalRequest(const SigningRequest& request) {
  const Headers sorted = Sorted(request.headers);
  std::string text;
  text.append(request.method).append("\n");
  text.append(request.path).append("\n");
  text.append(request.query).append("\n");
  for (const auto& [name, value] : sorted) text.append(name).append(":").append(value).append("\n");
  text.append("\n").append(Names(sorted)).append("\n").append(request.payload_hash);
  return text;
}

std::string Authorization(const SigningRequest& request, const Credentials& credentials,
                          std::string_view region, std::string_view service,
                          std::string_view time) {
  const std::string_view day = time.substr(0, 8);
  std::string scope(day);
  scope.append("/").append(region).append("/").append(service).append("/aws4_request");
  std::string text = "AWS4-HMAC-SHA256\n";
  text.append(time).append("\n").append(scope).append("\n");
  text += Hex(Sha256(CanonicalRequest(request)));
  const Digest of_day = Hmac("AWS4" + credentials.secret, day);
  const Digest of_region = Hmac(AsKey(of_day), region);
  const Digest of_service = Hmac(AsKey(of_region), service);
  const Digest key = Hmac(AsKey(of_service), "aws4_request");
  return "AWS4-HMAC-SHA256 Credential=" + credentials.key_id + "/" + scope +
         ",SignedHeaders=" + Names(Sorted(request.headers)) +
         ",Signature=" + Hex(Hmac(AsKey(key), text));
}

void SignHeaders(SigningRequest& request, const Credentials& credentials, std::string_view region,
                 std::int64_t millis) {
  const std::string time = SigningTime(millis);
  request.payload_hash = kEmptyHash;
  request.headers.emplace_back("x-amz-content-sha256", kEmptyHash);
  request.headers.emplace_back("x-amz-date", time);
  if (!credentials.token.empty()) {
    request.headers.emplace_back("x-amz-security-token", credentials.token);
  }
  std::string signature = Authorization(request, credentials, region, "s3", time);
  request.headers.emplace_back("authorization", std::move(signature));
}

}  // namespace headrace::remote
