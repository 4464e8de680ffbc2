#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "dataworker/stage/confine/confinement.h"

// The first thing that runs in a process of a Python stage. It is this program again, since a process
// with threads can't do what follows, and Python would come too late: a trainer says what it imports.
namespace headrace::dataworker {

// The first word of such a process, after the program's name.
inline constexpr char kStageProcess[] = "stage-process";

// The command that confines itself and then becomes `command`. Without one it says on its standard output
// why it can't have such a view of files, and ends.
[[nodiscard]] std::vector<std::string> StageProcessCommand(const Confinement& confinement,
                                                           const std::vector<std::string>& command);

// Runs what comes after kStageProcess: the command runs in this process from here on. A process that could
// not be confined says why on standard error, and ends with kNotConfined. REQUIRES: the process has one
// thread.
[[noreturn]] void StageProcessMain(const std::vector<std::string>& words);
inline constexpr int kNotConfined = 125;

}  // namespace headrace::dataworker
