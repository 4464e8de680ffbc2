#pragma once

#include <cstdint>

namespace headrace::dataworker {

// The form in which the coordinator wants the samples of a data set kept, the same for all of its jobs. The
// default is the plan's own.
struct WantedForm {
  bool encoded = false;    // the file's bytes are worth more than pixels
  std::int32_t nodes = 0;  // the output after so many nodes; 0: after the longest pure prefix
  friend bool operator==(const WantedForm&, const WantedForm&) = default;
};

}  // namespace headrace::dataworker
