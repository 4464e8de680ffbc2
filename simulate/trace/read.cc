#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "simulate/trace/csv.h"
#include "simulate/trace/trace.h"

namespace headrace::simulate {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30U;

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return NotFound(path + ": no such file");
  if (fs::file_size(path, error) > kMostBytes || error) {
    return ResourceExhausted(path + ": more than 1 GiB, or its size cannot be read");
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return NotFound(path + ": cannot be read");
  return std::move(text).str();
}

std::span<const Reader* const> Readers() {
  // The own format comes first, since its columns are the most specific.
  static const std::array<const Reader*, 6> readers = {
      &OwnReader(), &MuriReader(), &SiaReader(), &PhillyReader(), &GavelReader(), &SynergyReader()};
  return readers;
}

Result<Trace> ReadTrace(const Input& input, const AssignOptions& options) {
  Input plain = input;
  if (plain.text.starts_with("\xef\xbb\xbf")) plain.text.remove_prefix(3);
  const std::string_view first = FirstLine(plain.text);
  for (const Reader* reader : Readers()) {
    if (!reader->Detect(first)) continue;
    HR_TRY(auto records, reader->Read(plain));
    if (records.empty()) return Infeasible(input.file + ": no jobs");
    HR_TRY(Trace trace, Assign(std::move(records), options));
    trace.format = reader->name();
    return trace;
  }
  std::string known;
  for (const Reader* reader : Readers()) {
    (known += known.empty() ? "" : ", ") += reader->name();
  }
  return InvalidArgument(input.file + ":1: expected the first line of a trace (" + known + ")");
}

Result<Trace> ReadTraceFile(const TraceFiles& files, const AssignOptions& options) {
  HR_TRY(const std::string text, ReadFile(files.trace));
  Input input;
  input.file = files.trace;
  input.text = text;
  input.companion = [&](std::string_view name) -> Result<std::string> {
    const bool throughputs = name.ends_with(".json");
    const std::string& given = throughputs ? files.throughputs : files.profiles;
    const std::string path =
        given.empty()
            ? (std::filesystem::path(files.trace).parent_path() / std::string(name)).string()
            : given;
    auto found = ReadFile(path);
    if (found.ok()) return found;
    return Status(found.status().code(), found.status().message() + "; this trace needs it: give " +
                                             (throughputs ? "--throughputs" : "--profiles") +
                                             " FILE");
  };
  return ReadTrace(input, options);
}

}  // namespace headrace::simulate
