#pragma once

#include <string>
#include <vector>

namespace headrace::cli {

// Cuts the program and its arguments off `arguments` (those after "headrace run") and returns them.
// They begin at the first word that is neither an option nor an option's value, or after "--". So
// the program's own options are never taken for ours. `flags`: options of this subcommand that take
// no value, in addition to the common ones.
[[nodiscard]] std::vector<std::string> TakeProgram(std::vector<std::string>& arguments,
                                                   const std::vector<std::string>& flags = {});

// Returns the program, with `python` before it if its first word is a Python file. Uses `python3`
// if `path`, which is like the variable PATH, has no `python`. An executable file that is named
// with its folder (./train.py) chooses its interpreter itself.
[[nodiscard]] std::vector<std::string> WithInterpreter(std::vector<std::string> program,
                                                       const std::string& path);

}  // namespace headrace::cli
