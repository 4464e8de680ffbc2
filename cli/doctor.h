#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "schemas/wire/control.h"

// `headrace doctor`: what stands between this host and a pool, and what to do about it.
namespace headrace::cli {

// Whether a server's address was reached from here: the connection alone, no word was exchanged.
struct Reached {
  std::string address;  // "tcp://HOST:PORT" or "ipc://PATH"
  Status
      status;  // kNotFound: the name is not known here. kUnavailable: nobody listens, or it took too long
  double seconds = 0;
};

// What was seen from this host.
struct Observed {
  std::string host, version;                          // of this host and program
  std::uint64_t open_files = 0;                       // the limit of a process
  std::string address;                                // of the coordinator; empty: none is named
  Reached coordinator;                                // by TCP or its Unix socket
  std::optional<Result<wire::ClusterStatus>> status;  // what it answered, if it was reached
  // By worker of the status, in its order: its addresses.
  std::vector<std::vector<Reached>> workers;
  // If asked for: verbs on Pods that a coordinator with this host's account would lack, or why nobody
  // knows.
  std::optional<Result<std::vector<std::string>>> missing_verbs;
};

struct Finding {
  enum class Level : std::uint8_t { kFine, kWarning, kProblem };
  Level level = Level::kFine;
  std::string text;
  std::string remedy;  // of what is not fine
};

// The findings in the order in which a person would look. Pure.
[[nodiscard]] std::vector<Finding> Diagnose(const Observed& seen);

// A line for each finding, and one for its remedy. Pure.
[[nodiscard]] std::string FindingsText(const std::vector<Finding>& findings);
[[nodiscard]] std::string FindingsJson(const std::vector<Finding>& findings);

}  // namespace headrace::cli
