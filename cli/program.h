#pragma once

#include <string>
#include <vector>

namespace headrace::cli {

// Cuts the program and its arguments off `arguments` (those behind "headrace run") and returns
// them: everything from the first word that is neither an option nor an option's value, or behind
// "--". So the program's own options are never taken for ours. `flags`: options of the subcommand
// that take no value, beside those that all have.
[[nodiscard]] std::vector<std::string> TakeProgram(std::vector<std::string>& arguments,
                                                   const std::vector<std::string>& flags = {});

// The program, with `python` in front where its first word is a Python file (`python3` where
// `path`, as in the variable PATH, has no `python`). A file that can be executed and is named by
// its folder
// (./train.py) chooses its interpreter itself.
[[nodiscard]] std::vector<std::string> WithInterpreter(std::vector<std::string> program,
                                                       const std::string& path);

}  // namespace headrace::cli
