#include "coordinator/cli/program.h"

#include <cstddef>

namespace headrace::cli {

std::vector<std::string> TakeProgram(std::vector<std::string>& arguments) {
  std::size_t end = 0;  // of our own part
  std::size_t begin = 0;
  for (; end < arguments.size(); begin = end) {
    const std::string& word = arguments[end];
    if (word == "--") {
      begin = end + 1;
      break;
    }
    if (!word.starts_with("-")) break;
    // Every option of `run` takes a value, but for the help.
    const bool alone = word == "-h" || word == "--help" || word.find('=') != std::string::npos;
    end += alone ? 1 : 2;
  }
  if (end > arguments.size()) end = begin = arguments.size();
  const auto at = [&](std::size_t i) { return arguments.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<std::string> program(at(begin), arguments.end());
  arguments.erase(at(end), arguments.end());
  return program;
}

}  // namespace headrace::cli
