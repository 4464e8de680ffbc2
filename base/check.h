#pragma once

namespace headrace {

// Logs "file:line: check failed: expression: detail" and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* expression);

}  // namespace headrace

// For our own bugs only; on in release builds. Input from peers, files and users is validated
// instead.
#define HR_CHECK(expression)                                    \
  do {                                                          \
    if (!(expression)) [[unlikely]]                             \
      ::headrace::CheckFailed(__FILE__, __LINE__, #expression); \
  } while (false)
