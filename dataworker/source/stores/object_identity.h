#pragma once

#include <string>

#include "dataworker/source/core/content_identity.h"
#include "remote/store.h"

namespace headrace::dataworker {

// The identity of an object in this version: its URL with the store's own address, which a plan may
// choose, and the version. It holds on all hosts, unless the address leads each host to itself.
// `version`: ObjectAnswer::version. Empty: nobody knows whether it is the same content the next time, so
// the identity equals no other.
[[nodiscard]] ContentIdentity IdentityOfObject(const remote::ObjectUrl& url,
                                               const std::string& version);

}  // namespace headrace::dataworker
