#pragma once

#include <string>

#include "base/result.h"

namespace headrace {

// Makes the directory where it is missing, mode 0700, and says whether only this user can use it:
// others must not be able to connect to a socket there, or to put one of theirs in its place.
// kInvalidArgument: it is another's, open to others, a link or no directory. Thread-safe.
[[nodiscard]] Status MakePrivateDirectory(const std::string& path);

}  // namespace headrace
