#pragma once

#include <string>
#include <vector>

namespace headrace::cli {

// Cuts the program and its arguments off `arguments` (those behind "headrace run") and returns
// them: everything from the first word that is neither an option nor an option's value, or behind
// "--". So the program's own options are never taken for ours.
[[nodiscard]] std::vector<std::string> TakeProgram(std::vector<std::string>& arguments);

}  // namespace headrace::cli
