#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// `headrace explain` and `headrace verify`: the program runs as a child up to its DataLoaders,
// inspects them there, and ends. The Python side is headrace/loader/inspection.py.
namespace headrace::cli {

struct Inspection {
  std::string what;          // "explain" or "verify"
  std::int64_t loaders = 1;  // the program ends at the first iter() of its DataLoader number ...
  std::int64_t batches = 8;  // batches of each loader, for verify
  bool workers = false;      // verify each worker of the pool by itself
  bool json = false;
  std::string svg;  // absolute path of a picture to write; empty: none
};

// Makes the value of HEADRACE_INSPECT: JSON. `answer`, `turn`: paths of descriptors of process
// `pid`. The process that reads the only byte of `turn` inspects its loaders and writes to
// `answer`. All processes of the program end when `turn` has no writer any more. Launchers of
// several ranks close inherited descriptors, so it uses paths.
[[nodiscard]] std::string InspectionSettings(const Inspection& inspection, std::int64_t pid,
                                             int answer, int turn);

// What the program found: "CODE SIZE\n" and SIZE bytes of text.
struct Answer {
  int code = 0;  // exit code
  std::string text;
};
// Nothing: the answer is not complete yet. kDataLoss: that is not an answer.
[[nodiscard]] Result<std::optional<Answer>> ParseAnswer(std::string_view received);

// Runs the program and prints its answer to standard output. The program itself cannot write there:
// its standard output is our standard error. Returns the exit code: the answer's, or the program's
// if it failed before its answer. It is 1 if the program never came to its DataLoader, and 127 if
// it cannot be started.
[[nodiscard]] int Inspect(const Inspection& inspection, const std::vector<std::string>& program);

}  // namespace headrace::cli
