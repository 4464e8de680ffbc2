#include "trainer_client/service/start_program.h"

#include <cstdlib>

namespace headrace::client {

Result<ChildProcess> StartProgram(const std::vector<std::string>& command, const std::string& log) {
  SpawnOptions options{
      .command = command, .empty_input = true, .close_others = true, .own_group = true};
  if (std::getenv("HEADRACE_LOG") == nullptr) {
    options.log = log;
  } else {
    options.output_to_errors = true;
  }
  Result<ChildProcess> child = ChildProcess::Start(options);
  if (child.ok() || child.status().code() != Code::kNotFound) return child;
  return NotFound("cannot run the headrace program (" + child.status().message() +
                  "); install the package again, or name it by ClientOptions::binary");
}

std::string CacheWord(std::optional<std::uint64_t> bytes) {
  return bytes ? std::to_string(*bytes) : "auto";
}

}  // namespace headrace::client
