#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace {

// A bound on what a peer or a job may take, which the operator may set. A plain value.
struct Quota {
  std::string_view option;  // of the command line: "--max-jobs"
  std::uint64_t most = 0;
  std::string_view what;   // that is counted: "open jobs"
  bool bytes = false;      // `most` may be said as 2G
  std::string_view after;  // what a trainer or worker sees that is refused

  // kUnsupported, so that whoever is refused goes another way: `wanted` are too many. The message names
  // the bound, the number and the option.
  [[nodiscard]] Status Check(std::uint64_t wanted) const;
};

}  // namespace headrace
