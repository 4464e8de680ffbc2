#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "remote/credentials.h"
#include "remote/endpoint_rules.h"
#include "remote/response_head.h"
#include "remote/retry.h"
#include "remote/transfer_job.h"

namespace headrace::remote {

// What whoever asked is told of a job that is given up: how its last try ended, and what people may do
// about it. `rules`: of the client. Pure.
[[nodiscard]] Status FailureOf(const TransferJob& job, const Outcome& outcome,
                               const ResponseHead& head, const EndpointRules& rules);

// The code of an error that came without a body, as the answer to a HEAD does: a guess. Empty: none.
// `credentials`: that signed it. `ours_millis`: the time that it was signed with.
[[nodiscard]] std::string CodeWithoutBody(int status, const ResponseHead& head,
                                          const std::optional<Credentials>& credentials,
                                          std::int64_t ours_millis);

}  // namespace headrace::remote
