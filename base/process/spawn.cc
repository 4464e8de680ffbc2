#include "base/process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/process/descriptors_internal.h"

namespace headrace {
namespace {

struct SpawnSettings {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  SpawnSettings() {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&files);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void SetFiles(const SpawnOptions& options, posix_spawn_file_actions_t* files) {
  if (options.empty_input) {
    ::posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  if (options.log) {
    ::posix_spawn_file_actions_addopen(files, STDOUT_FILENO, options.log->c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(files, STDOUT_FILENO, STDERR_FILENO);
  }
  if (options.output_to_errors) {
    ::posix_spawn_file_actions_adddup2(files, STDERR_FILENO, STDOUT_FILENO);
  }
  for (const auto& [ours, theirs] : options.descriptors) {
    ::posix_spawn_file_actions_adddup2(files, ours, theirs);
  }
  if (options.close_others) ::posix_spawn_file_actions_addclosefrom_np(files, 3);
}

void SetAttributes(const SpawnOptions& options, posix_spawnattr_t* attributes) {
  short flags = 0;
  if (options.reset_signals) {
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(attributes, &none);
    ::posix_spawnattr_setsigdefault(attributes, &all);
    flags |= POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  }
  if (options.own_group) {
    ::posix_spawnattr_setpgroup(attributes, 0);
    flags |= POSIX_SPAWN_SETPGROUP;
  }
  ::posix_spawnattr_setflags(attributes, flags);
}

}  // namespace

Result<pid_t> Spawn(const SpawnOptions& options) {
  if (options.command.empty()) return InvalidArgument("no command to start");
  SpawnSettings settings;
  SetFiles(options, &settings.files);
  SetAttributes(options, &settings.attributes);
  const std::vector<char*> words = Pointers(options.command);
  std::vector<char*> variables;
  if (options.environment) variables = Pointers(*options.environment);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words[0], &settings.files, &settings.attributes,
                                   words.data(), options.environment ? variables.data() : environ);
  if (error == 0) {
    if (!options.raised_limit) KeepDescriptorLimitOf(pid);
    return pid;
  }
  const std::string what = "start " + options.command[0];
  if (error == EACCES) return NotFound(what + ": " + std::strerror(error));
  return ErrnoStatus(error, what);
}

UniqueFd OpenPidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace headrace
