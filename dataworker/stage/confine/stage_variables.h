#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headrace::dataworker {

// Whether a stage process keeps the environment variable `name` of its worker: those of the system, of
// Python and of numeric libraries, which say how a process works, and what the operator names in `also`.
// There, `NAME*` stands for all that begin so. All others may be secrets, and are not kept. Pure.
[[nodiscard]] bool IsVariableOfStages(std::string_view name, std::span<const std::string> also);

// Takes all others out of this process's environment. For a process of one thread.
void KeepVariablesOfStages(std::span<const std::string> also);

}  // namespace headrace::dataworker
