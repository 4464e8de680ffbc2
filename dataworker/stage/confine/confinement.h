#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace headrace::dataworker {

enum class StageSandbox {
  kOff,       // the processes may do what the worker's user may
  kOn,        // they are confined as far as the kernel gives it
  kRequired,  // the worker does not start where they can't be confined
};

// What the operator of a worker says of the Python processes that run jobs' code.
struct StageRules {
  StageSandbox sandbox = StageSandbox::kOn;
  std::string user;                  // that they run as; empty: the worker's own
  std::uint64_t memory_bytes = 0;    // most data (RLIMIT_DATA) of each process; 0: no limit
  std::uint64_t open_files = 65536;  // most descriptors (RLIMIT_NOFILE) of each; 0: no limit
  // Most processes and threads of their user (RLIMIT_NPROC); 0: no limit. It holds where that user
  // has no other processes that count: see ConfineStages.
  std::uint64_t processes = 16384;
  // Environment variables of the worker that the processes have besides the usual ones, NAME or NAME*
  // (IsVariableOfStages).
  std::vector<std::string> variables;
};

// How one process of a stage is confined, before its first instruction. A value.
struct Confinement {
  std::string user;                    // empty: as its starter
  std::uint64_t memory_bytes = 0;      // RLIMIT_DATA; 0: as its starter's
  std::uint64_t open_files = 0;        // the hard limit of RLIMIT_NOFILE; 0: as its starter's
  std::uint64_t usual_files = 0;       // the soft one; 0: as its starter's
  std::uint64_t processes = 0;         // RLIMIT_NPROC; 0: as its starter's
  bool filter = false;                 // of system calls, and without most capabilities
  std::vector<std::string> roots;      // what it sees of files, besides Python; none: all
  bool few_variables = false;          // of its starter's environment, it has the usual ones and
  std::vector<std::string> variables;  // these

  bool operator==(const Confinement&) const = default;

  // The same for a process that sees what its starter sees: files and variables. Its user may have other
  // processes then, which a limit would count.
  [[nodiscard]] Confinement WithoutView() const;

  // As words of a command line, and back. kInvalidArgument: no such word.
  [[nodiscard]] std::vector<std::string> Words() const;
  [[nodiscard]] static Result<Confinement> Parse(std::span<const std::string> words);
};

}  // namespace headrace::dataworker
