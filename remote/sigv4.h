#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remote/credentials.h"

namespace headrace::remote {

// What is signed of a request. Source: AWS General Reference, Signature Version 4, as S3 uses it.
struct SigningRequest {
  std::string_view method;                                   // "GET"
  std::string_view path;                                     // encoded once
  std::string_view query;                                    // encoded and sorted
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, any order
  std::string_view payload_hash;                             // hex
};

// Hex of the SHA-256 of nothing: the payload of GET and HEAD.
inline constexpr std::string_view kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// "20130524T000000Z". `millis` since the Unix epoch.
[[nodiscard]] std::string SigningTime(std::int64_t millis);

// The text that is hashed and signed.
[[nodiscard]] std::string CanonicalRequest(const SigningRequest& request);

// Adds to the headers of a request without a body what its signature needs, and the signature. "host" is
// one of them. `millis`: the store's time, since the Unix epoch.
void SignHeaders(SigningRequest& request, const Credentials& credentials, std::string_view region,
                 std::int64_t millis);

// The value of the Authorization header. All of `request.headers` are signed, and "x-amz-date",
// which is one of them, is `time`.
[[nodiscard]] std::string Authorization(const SigningRequest& request,
                                        const Credentials& credentials, std::string_view region,
                                        std::string_view service, std::string_view time);

}  // namespace headrace::remote
