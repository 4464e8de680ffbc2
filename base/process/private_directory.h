#pragma once

#include <string>

#include "base/result.h"

namespace headrace {

// Makes the directory with mode 0700 if it is missing, and checks that only this user can use it.
// Others must not be able to connect to a socket there, or to replace it with their own.
// kInvalidArgument: it is another user's, open to others, a link or no directory. Thread-safe.
[[nodiscard]] Status MakePrivateDirectory(const std::string& path);

}  // namespace headrace
