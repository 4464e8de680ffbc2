#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace headrace::dataworker {

// The path of the program `name`, which is searched in PATH where it has no slash. kNotFound: there is
// none, or it may not be run.
[[nodiscard]] Result<std::string> FindProgram(const std::string& name);

// The files and directories that the interpreter consists of: asks it, without what a trainer says of
// import paths. It takes as long as Python takes to start. Errors: it does not start, or says nothing.
[[nodiscard]] Result<std::vector<std::string>> PythonPlaces(const std::string& program);

}  // namespace headrace::dataworker
