#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/trace/record.h"

// Traces of clusters, in published formats and in our own. The first line of a file shows its
// format.
namespace headrace::simulate {

struct Input {
  std::string file;       // name in messages
  std::string_view text;  // all of it
  // Reads a file next to the trace, for formats that need two. kNotFound says what to give.
  std::function<Result<std::string>(std::string_view name)> companion;
};

class Reader {
 public:
  virtual ~Reader() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Says whether a file that begins with this line looks like this format.
  [[nodiscard]] virtual bool Detect(std::string_view first_line) const = 0;
  // kInvalidArgument names the file, the line, and what was expected there.
  [[nodiscard]] virtual Result<std::vector<Record>> Read(const Input& input) const = 0;
};

[[nodiscard]] const Reader& MuriReader();
[[nodiscard]] const Reader& GavelReader();
[[nodiscard]] const Reader& SynergyReader();
[[nodiscard]] const Reader& SiaReader();
[[nodiscard]] const Reader& PhillyReader();
[[nodiscard]] const Reader& OwnReader();
[[nodiscard]] std::span<const Reader* const> Readers();

// kInvalidArgument: no reader knows the first line, or the reader's own error; kInfeasible: no
// jobs.
[[nodiscard]] Result<Trace> ReadTrace(const Input& input, const AssignOptions& options);

struct TraceFiles {
  std::string trace;
  std::string throughputs;  // Gavel's JSON; empty: beside the trace
  std::string profiles;     // Synergy's CSV; empty: beside the trace
};
// kNotFound, kResourceExhausted (more than 1 GiB), and the errors of ReadTrace.
[[nodiscard]] Result<Trace> ReadTraceFile(const TraceFiles& files, const AssignOptions& options);

// Writes our own format; ReadTrace reads the same jobs from it.
[[nodiscard]] std::string WriteTrace(const Trace& trace);

}  // namespace headrace::simulate
