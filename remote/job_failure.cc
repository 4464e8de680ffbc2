#include "remote/job_failure.h"

#include <cstdlib>

namespace headrace::remote {
namespace {

constexpr std::int64_t kMostSkewMillis = 300'000;  // S3 takes 15 minutes

}  // namespace

Status FailureOf(const TransferJob& job, const Outcome& outcome, const ResponseHead& head,
                 const EndpointRules& rules) {
  const ObjectRequest& request = job.fetch->request();
  const Status status = StatusOf(outcome, request.url.Name(), job.part->tries);
  std::string why;
  const bool refused = outcome.status == 401 || outcome.status == 403;
  if (outcome.failure == Outcome::Failure::kForbidden) {
    why = job.url.host +
          " is at an address of this host or its network, and the operator of this "
          "process does not allow that endpoint";
  } else if (refused && request.store->is_signed() && !job.is_signed) {
    why =
        rules.MaySign(request.url)
            ? "no credentials were found"
            : "it was not signed, since the operator of this process does not allow that endpoint";
  } else if (request.store->s3() && !head.region.empty() &&
             head.region != request.store->region()) {
    why = "the bucket is in the region " + head.region + ", not " + request.store->region();
  } else if (outcome.status >= 300 && outcome.status < 400) {
    why = "it redirects where no request of ours may follow";
  }
  if (why.empty()) return status;
  return {status.code(), status.message() + " (" + why + ")", status.detail()};
}

std::string CodeWithoutBody(int status, const ResponseHead& head,
                            const std::optional<Credentials>& credentials,
                            std::int64_t ours_millis) {
  if (status == 400 && credentials && !credentials->token.empty()) return "ExpiredToken";
  const bool skewed =
      head.date_millis && std::abs(*head.date_millis - ours_millis) > kMostSkewMillis;
  return status == 403 && skewed ? "RequestTimeTooSkewed" : "";
}

}  // namespace headrace::remote
