#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "coordinator/pool/kubernetes/kube_access.h"

namespace headrace::coordinator {

// The verbs on Pods that a pool needs and this account has not, as the API server says
// (SelfSubjectAccessReview, which each account may ask for). Blocks, for `patience` at most. kUnavailable:
// no answer, or the token is not known there. The token's errors as KubeAccess::ReadToken.
[[nodiscard]] Result<std::vector<std::string>> MissingPodVerbs(const KubeAccess& access,
                                                               Duration patience);

}  // namespace headrace::coordinator
