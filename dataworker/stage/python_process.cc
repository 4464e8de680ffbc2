#include "dataworker/stage/python_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "net/unique_fd.h"

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

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<std::int64_t> SpawnPython(const std::string& executable, const PythonStage& stage,
                                 std::uint64_t memory_bytes, int child_fd) {
  std::vector<std::string> words{executable, "-m", "headrace.stage.host", std::to_string(kChildFd)};
  std::vector<std::string> variables = Environment(stage);
  std::vector<char*> argv = Pointers(words);
  std::vector<char*> envp = Pointers(variables);
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&files);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_adddup2(&files, child_fd, kChildFd);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return Status(Code::kUnsupported,
                  "start Python stage: " + executable + ": " + std::strerror(error));
  }
  if (memory_bytes > 0) {
    const rlimit limit{memory_bytes, memory_bytes};
    if (::prlimit(pid, RLIMIT_DATA, &limit, nullptr) != 0) {
      const Status status = ErrnoStatus(errno, "limit the memory of a Python stage");
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return status;
    }
  }
  return pid;
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
  std::string how = "its Python process has ended";
  if (reaped > 0) how += " with exit code " + std::to_string(WEXITSTATUS(status));
  return how;
}

void KillPython(net::Reactor& reactor, std::int64_t pid) {
  ::kill(static_cast<pid_t>(pid), SIGKILL);
  const auto fd = std::make_shared<net::UniqueFd>(
      static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
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
