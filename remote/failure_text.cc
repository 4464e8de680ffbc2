#include "remote/failure_text.h"

namespace headrace::remote {
namespace {

// Why nobody signed a request that the store refused; empty: there is no reason.
std::string WhyUnsigned(const FailedTry& failed) {
  if (!failed.request.store->is_signed() || failed.is_signed) return {};
  if (!failed.rules.MaySign(failed.request.url)) {
    return "it was not signed, since the operator of this process does not allow that endpoint";
  }
  if (!failed.credentials) return "no credentials were found";
  if (!failed.rules.MaySign(failed.request.url, failed.credentials->key_id)) {
    return "it was not signed, since the key is none of GCS: those begin with GOOG";
  }
  return {};
}

}  // namespace

Status ExplainFailure(const Outcome& outcome, const FailedTry& failed) {
  const Status status = StatusOf(outcome, failed.request.url.Name(), failed.tries);
  std::string why;
  if (outcome.failure == Outcome::Failure::kForbidden) {
    why =
        failed.host +
        " is at an address of this host or its network, and the operator of this process does not "
        "allow that endpoint";
  } else if (outcome.status == 401 || outcome.status == 403) {
    why = WhyUnsigned(failed);
  }
  if (why.empty() && !outcome.region.empty()) {
    why = "the bucket is in the region " + outcome.region + ", not " + failed.region;
  }
  if (why.empty() && outcome.status >= 300 && outcome.status < 400) {
    why = "it redirects where no request of ours may follow";
  }
  if (why.empty()) return status;
  return {status.code(), status.message() + " (" + why + ")", status.detail()};
}

}  // namespace headrace::remote
