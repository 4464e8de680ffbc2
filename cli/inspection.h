#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// `headrace explain` and `headrace verify`: the program runs as a child up to its DataLoaders,
// looks at them there, and ends. The Python side is headrace/loader/inspection.py.
namespace headrace::cli {

struct Inspection {
  std::string what;          // "explain" or "verify"
  std::int64_t loaders = 1;  // the program ends at the first iter() of its DataLoader number ...
  std::int64_t batches = 8;  // of each loader, for verify
  bool workers = false;      // verify each worker of the pool by itself
  bool json = false;
  std::string svg;  // absolute path of a picture to write; empty: none
};

// The value of HEADRACE_INSPECT: JSON. `answer`, `turn`: paths of descriptors of process `pid`.
// Whoever reads the only byte of `turn` looks at its loaders and writes to `answer`; all processes
// of the program end when `turn` has no writer any more. Paths and not inherited descriptors, which
// launchers of several ranks close.
[[nodiscard]] std::string InspectionSettings(const Inspection& inspection, std::int64_t pid,
                                             int answer, int turn);

// What the program found: "CODE SIZE\n" and SIZE bytes of text.
struct Answer {
  int code = 0;  // exit code
  std::string text;
};
// Nothing when it has not come as a whole. kDataLoss: that is not an answer.
[[nodiscard]] Result<std::optional<Answer>> ParseAnswer(std::string_view received);

// Runs the program and prints its answer to standard output, where the program itself cannot write
// (its standard output is our standard error). Returns the exit code: the answer's, that of a
// program which failed before it, 1 for one that never came to its DataLoader, 127 for one that
// cannot be started.
[[nodiscard]] int Inspect(const Inspection& inspection, const std::vector<std::string>& program);

}  // namespace headrace::cli
