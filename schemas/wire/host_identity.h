#pragma once

#include "schemas/wire/control.h"

namespace headrace::wire {

// This process on this host. boot_id is empty where /proc does not tell it; then nobody counts as
// being on the same host. Reads /proc: keep the result.
[[nodiscard]] HostIdentity ReadHostIdentity();

// Whether two processes can share memory and Unix sockets, as far as their identities tell.
[[nodiscard]] inline bool SameHost(const HostIdentity& a, const HostIdentity& b) {
  return !a.boot_id.empty() && a.boot_id == b.boot_id && a.uid == b.uid;
}

}  // namespace headrace::wire
