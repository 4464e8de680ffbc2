#include "dataworker/stage/python_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/process/spawn.h"
#include "base/unique_fd.h"
#include "dataworker/stage/confine/python_places.h"
#include "dataworker/stage/confine/stage_process.h"

namespace headrace::dataworker {
namespace {

constexpr int kChildFd = 3;

// The environment of this process, with the trainer's import path.
std::vector<std::string> Environment(const PythonStage& stage) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("PYTHONPATH=")) continue;
    variables.emplace_back(*entry);
  }
  std::string path = "PYTHONPATH=";
  for (const std::string& entry : stage.sys_path) {
    if (path.back() != '=') path += ':';
    path += entry;
  }
  variables.push_back(path);
  variables.emplace_back("PYTHONSAFEPATH=1");
  return variables;
}

}  // namespace

Result<std::int64_t> SpawnPython(const std::string& executable, const PythonStage& stage,
                                 const Confinement& confinement, int child_fd) {
  const Result<std::string> program = FindProgram(executable);
  const Result<pid_t> pid = program.ok()
                                ? Spawn({.command = StageProcessCommand(
                                             confinement, {executable, "-m", "headrace.stage.host",
                                                           std::to_string(kChildFd)}),
                                         .environment = Environment(stage),
                                         .descriptors = {{child_fd, kChildFd}},
                                         .raised_limit = true})
                                : program.status();
  if (!pid.ok()) {
    return Status(Code::kUnsupported, "Python stage: " + pid.status().message());
  }
  return *pid;
}

std::string ReapPython(std::int64_t pid) {
  int status = 0;
  const pid_t reaped = ::waitpid(static_cast<pid_t>(pid), &status, WNOHANG);
  if (reaped == 0) return "";
  if (reaped > 0 && WIFSIGNALED(status)) {
    const char* name = ::sigdescr_np(WTERMSIG(status));
    return std::string("its Python process was killed by signal: ") +
           (name != nullptr ? name : std::to_string(WTERMSIG(status)));
  }
  if (reaped > 0 && WIFEXITED(status) && WEXITSTATUS(status) == kNotConfined) {
    return "its Python process could not be confined: the log of that worker says why";
  }
  std::string how = "its Python process has ended";
  if (reaped > 0) how += " with exit code " + std::to_string(WEXITSTATUS(status));
  return how;
}

void KillPython(net::Reactor& reactor, std::int64_t pid) {
  ::kill(static_cast<pid_t>(pid), SIGKILL);
  const auto fd = std::make_shared<UniqueFd>(OpenPidfd(static_cast<pid_t>(pid)));
  if (!fd->valid()) return;
  reactor.WatchFd(fd->get(), [&reactor, fd, pid] {
    if (ReapPython(pid).empty()) return;
    // Posted: the callback that is running holds the descriptor.
    reactor.Post([&reactor, fd] {
      if (fd->valid()) reactor.UnwatchFd(fd->get());
      fd->reset();
    });
  });
}

}  // namespace headrace::dataworker
