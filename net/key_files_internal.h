#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace headrace::net {

enum class KeyPart : std::uint8_t { kDirectory, kSecret, kAllow };

// kInvalidArgument, with the remedy, if other users can in fact read a secret key, or change a key,
// the list of those admitted or which files these are. `mode` and `owner` are those of `path`,
// after links are followed. `user`: the process's own. Keys that root gave to a container pass. So:
//
//   kDirectory  of root or the user; writable by nobody else, or sticky
//   kSecret     of root or the user; the group of a file of root may read it, nobody else may
//   kAllow      of root or the user; writable by nobody else
//
// Pure.
[[nodiscard]] Status JudgeKeyPart(KeyPart part, const std::string& path, mode_t mode, uid_t owner,
                                  uid_t user);

}  // namespace headrace::net
