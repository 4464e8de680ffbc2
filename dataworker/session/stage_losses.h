#pragma once

#include <map>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace headrace::dataworker {

// Counts how often the Python process of a session was lost here, also when the session was
// attached again meanwhile. Reactor thread.
class StageLosses {
 public:
  static constexpr int kMost = 3;
  // Counts a loss. Returns the answer for the session's batches after it: kNotFound while attaching
  // again may help, kUnsupported when it has been lost kMost times.
  Status Add(SessionId session, const std::string& how);
  // ok, or the refusal.
  [[nodiscard]] Status Check(SessionId session) const;

 private:
  struct Lost {
    int times = 0;
    std::string how;  // the last one
  };
  std::map<SessionId, Lost> lost_;
};

}  // namespace headrace::dataworker
