#pragma once

#include "schemas/wire/control.h"

namespace headrace::wire {

// The identity of this process on this host. boot_id is empty if /proc does not give it; then no
// process counts as being on the same host. Reads /proc: keep the result.
[[nodiscard]] HostIdentity ReadHostIdentity();

// Says whether two processes can share memory and Unix sockets, by their identities.
[[nodiscard]] inline bool SameHost(const HostIdentity& a, const HostIdentity& b) {
  return !a.boot_id.empty() && a.boot_id == b.boot_id && a.uid == b.uid;
}

}  // namespace headrace::wire
