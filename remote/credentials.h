#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace headrace::remote {

// Who signs requests. Never logged, and in no message: it has no text form.
struct Credentials {
  std::string key_id;
  std::string secret;
  std::string token;                        // of a session; empty: none
  std::int64_t expires_millis = INT64_MAX;  // since the Unix epoch
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// Where they are looked for, so that tests can say.
struct CredentialPlaces {
  // An environment variable; nullopt: not set.
  std::function<std::optional<std::string>(const char* name)> variable;
  // A file's text; nullopt: there is none.
  std::function<std::optional<std::string>(const std::string& path)> file;

  // This process's environment and files.
  static CredentialPlaces OfProcess();
};

// Their parts become parts of headers: no spaces and no control characters.
[[nodiscard]] bool IsPlain(const Credentials& credentials);

// What this process's operator has set: in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN; in the profile AWS_PROFILE ("default") of AWS_SHARED_CREDENTIALS_FILE
// (~/.aws/credentials). Services that hand them out: credential_call.h.
//
// nullopt: nothing is set there. kInvalidArgument: half of them are, or the profile that was asked for
// is missing. Messages name the place, and never what is there.
[[nodiscard]] Result<std::optional<Credentials>> EnvironmentCredentials(
    const CredentialPlaces& places);
[[nodiscard]] Result<std::optional<Credentials>> ProfileCredentials(const CredentialPlaces& places);

}  // namespace headrace::remote
