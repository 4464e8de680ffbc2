#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "remote/credentials.h"
#include "remote/endpoint_rules.h"
#include "remote/object_request.h"
#include "remote/retry.h"

namespace headrace::remote {

// How the request was made that failed.
struct FailedTry {
  const ObjectRequest& request;
  const std::string& host;
  const std::string& region;  // empty: of no bucket
  bool is_signed = false;
  int tries = 0;
  const EndpointRules& rules;
  const std::optional<Credentials>& credentials;
};

// The error of a request that is given up, with what its reader can do about it, where that is known. It
// holds no secret. Pure.
[[nodiscard]] Status ExplainFailure(const Outcome& outcome, const FailedTry& failed);

}  // namespace headrace::remote
