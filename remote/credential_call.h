#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "remote/credentials.h"
#include "remote/store.h"

namespace headrace::remote {

// One request by HTTP to a service that hands out credentials. It holds secrets: never logged.
struct CredentialCall {
  enum class Kind {
    kWebIdentity,  // AssumeRoleWithWebIdentity of the security token service
    kContainer,    // what a container's host answers (ECS, EKS Pod Identity)
  };
  Kind kind = Kind::kContainer;
  ObjectUrl url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // of a POST; empty: a GET
  std::string place;                 // for people
};

// The call that this process's operator has set up, if there is one:
//
//   AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME, at the service of AWS_REGION
//   (AWS_DEFAULT_REGION) or at AWS_ENDPOINT_URL_STS
std::optional<Result<CredentialCall>> FindWebIdentityCall(const CredentialPlaces& places);
//   AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI, with
//   AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or AWS_CONTAINER_AUTHORIZATION_TOKEN
//
// kInvalidArgument: a part is missing or damaged. A full URI without TLS may lead to this host and to
// the addresses of containers' hosts alone.
std::optional<Result<CredentialCall>> FindContainerCall(const CredentialPlaces& places);

// What the service has answered. kInvalidArgument: no credentials. Messages hold nothing of the answer.
[[nodiscard]] Result<Credentials> ReadCredentialAnswer(const CredentialCall& call,
                                                       std::string_view answer);

}  // namespace headrace::remote
