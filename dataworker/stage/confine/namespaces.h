#pragma once

#include "base/result.h"
#include "dataworker/stage/confine/rights.h"

namespace headrace::dataworker {

// Has this process a user namespace and a mount namespace of its own. In them it has all capabilities,
// over nothing that was there before. It knows the same numbers of users as before if `who` is root,
// else that of `who` alone. kUnsupported, with the cause: the kernel or a rule of this host does not
// let it. REQUIRES: the process has one thread.
Status EnterNamespaces(const Identity& who);

}  // namespace headrace::dataworker
