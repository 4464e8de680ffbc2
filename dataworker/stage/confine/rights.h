#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/result.h"

// The user and the capabilities of a process that has one thread.
namespace headrace::dataworker {

struct Identity {
  uid_t user = 0;
  gid_t group = 0;
};

// That of the user `name`, and the groups of it for this process, which needs root's rights; empty: that
// of this process, unchanged. kNotFound: no such user.
Result<Identity> IdentityOf(const std::string& name);
// Becomes it, with all capabilities that this process has.
Status Become(const Identity& who);
// Gives up all capabilities but these, of those that this process has; no program that it starts has
// others. Sets no_new_privs.
Status KeepCapabilities(std::span<const int> kept);

}  // namespace headrace::dataworker
