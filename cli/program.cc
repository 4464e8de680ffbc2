#include "cli/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <sstream>

namespace headrace::cli {
namespace {

bool OnPath(const std::string& name, const std::string& path) {
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> TakeProgram(std::vector<std::string>& arguments,
                                     const std::vector<std::string>& flags) {
  std::size_t end = 0;  // end of our own part
  std::size_t begin = 0;
  for (; end < arguments.size(); begin = end) {
    const std::string& word = arguments[end];
    if (word == "--") {
      begin = end + 1;
      break;
    }
    if (!word.starts_with("-")) break;
    // Every option takes a value, except these.
    const bool alone = word == "-h" || word == "--help" || word == "--json" ||
                       word == "--remote-only" || word == "--trust-code" || word == "--warm" ||
                       word == "--no-found-functions" || word.find('=') != std::string::npos ||
                       std::ranges::find(flags, word) != flags.end();
    end += alone ? 1 : 2;
  }
  if (end > arguments.size()) end = begin = arguments.size();
  const auto at = [&](std::size_t i) { return arguments.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<std::string> program(at(begin), arguments.end());
  arguments.erase(at(end), arguments.end());
  return program;
}

std::vector<std::string> WithInterpreter(std::vector<std::string> program,
                                         const std::string& path) {
  if (program.empty() || !program[0].ends_with(".py")) return program;
  const std::string& file = program[0];
  if (file.find('/') != std::string::npos && ::access(file.c_str(), X_OK) == 0) return program;
  program.insert(program.begin(), OnPath("python", path) ? "python" : "python3");
  return program;
}

}  // namespace headrace::cli
