#pragma once

// For tests: real processes, confined by the kernel.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>
#include <sstream>
#include <string>

#include "base/process/spawn.h"
#include "base/unique_fd.h"
#include "dataworker/stage/confine/stage_process.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {

inline constexpr char kPython[] = "/usr/bin/python3";

// What each test's Python has: try_ tells an outcome by the name of its error.
inline constexpr char kPrelude[] = R"(
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *words):
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(w) for w in words])
    return 'done' if done >= 0 else errno.errorcode[ctypes.get_errno()]
def attempt(action, *words):
    try:
        action(*words)
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'done'
def tell(name, what):
    print(name, what, sep='=', flush=True)
)";

inline constexpr int kForgotten = 9;  // a descriptor that somebody left open

struct ConfinedRun {
  int status = 0;
  std::string said;
  std::map<std::string, std::string> told;
};

inline ConfinedRun RunConfined(const Confinement& to, const std::string& script) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const Result<pid_t> pid =
      Spawn({.command = StageProcessCommand(to, {kPython, "-c", kPrelude + script}),
             .descriptors = {{theirs.get(), STDOUT_FILENO},
                             {theirs.get(), STDERR_FILENO},
                             {theirs.get(), kForgotten}}});
  EXPECT_TRUE(pid.ok());
  theirs.reset();
  ConfinedRun outcome;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(ours.get(), buffer.data(), buffer.size())) > 0;) {
    outcome.said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  EXPECT_EQ(::waitpid(*pid, &outcome.status, 0), *pid);
  std::istringstream lines(outcome.said);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) outcome.told[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return outcome;
}

}  // namespace headrace::dataworker
