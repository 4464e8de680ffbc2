#include "dataworker/stage/confine/confine_stages.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/log.h"
#include "base/process/descriptors.h"
#include "base/process/spawn.h"
#include "base/unique_fd.h"
#include "dataworker/stage/confine/call_filter.h"
#include "dataworker/stage/confine/stage_process.h"

namespace headrace::dataworker {
namespace {

constexpr char kRemedy[] =
    " (docs/security.md; --stage-sandbox required refuses to start instead, off says nothing)";

bool SeesAll(const std::vector<std::string>& roots) {
  return roots.empty() || std::ranges::find(roots, "/") != roots.end();
}

// Why a process can't have that view of files; empty: it can.
std::string WhyNoView(const Confinement& confinement) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe").message();
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const Result<pid_t> pid = Spawn({.command = StageProcessCommand(confinement, {}),
                                   .empty_input = true,
                                   .descriptors = {{theirs.get(), STDOUT_FILENO}}});
  if (!pid.ok()) return pid.status().message();
  theirs.reset();
  std::string why;
  std::array<char, 512> buffer;
  for (ssize_t got = 0; (got = ::read(ours.get(), buffer.data(), buffer.size())) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) why.append(buffer.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 && why.empty()) why = "the process that tried has ended";
  return why;
}

}  // namespace

std::vector<std::string> RootsOfView(const std::vector<std::string>& given,
                                     const std::vector<std::string>& real) {
  const auto is_base = [](const std::string& root) {
    return root.find("://") != std::string::npos;
  };
  std::vector<std::string> roots;
  for (const std::string& root : real) {
    if (!is_base(root)) roots.push_back(root);
  }
  for (const std::string& root : given) {
    if (is_base(root)) continue;
    roots.push_back(std::filesystem::absolute(root).lexically_normal().string());
    if (roots.back().size() > 1 && roots.back().ends_with('/')) roots.back().pop_back();
  }
  if (roots.empty() && !given.empty()) roots.emplace_back("/usr");
  return roots;
}

Result<ConfinementChosen> ChooseConfinement(const StageRules& rules,
                                            const std::vector<std::string>& roots,
                                            std::uint64_t usual_files,
                                            const ConfinementGiven& given) {
  ConfinementChosen chosen;
  Confinement& to = chosen.confinement;
  to.user = rules.user;
  to.memory_bytes = rules.memory_bytes;
  to.open_files = rules.open_files;
  to.usual_files = usual_files;
  if (rules.sandbox != StageSandbox::kOff) {
    to.few_variables = true;
    to.variables = rules.variables;
    to.filter = given.filter.empty();
    if (!to.filter) {
      chosen.warnings.push_back(
          "code of Python stages may make any system call here: " + given.filter + kRemedy);
    }
    if (!SeesAll(roots)) {
      if (to.filter && given.view.empty()) {
        to.roots = roots;
      } else {
        chosen.warnings.push_back(
            "--allow-root does not bind the code of Python stages here: " +
            (given.view.empty() ? "a view of files needs the filter of system calls" : given.view) +
            kRemedy);
      }
    }
  }
  if (!to.user.empty() || !to.roots.empty()) to.processes = rules.processes;
  if (rules.sandbox == StageSandbox::kRequired && !chosen.warnings.empty()) {
    return Unsupported("--stage-sandbox required: " + chosen.warnings.front());
  }
  return chosen;
}

Result<Confinement> ConfineStages(const StageRules& rules, const std::vector<std::string>& roots) {
  ConfinementGiven given;
  if (!CallFilterAvailable()) given.filter = "the kernel has no filter of system calls (seccomp)";
  if (rules.sandbox != StageSandbox::kOff && !SeesAll(roots)) {
    given.view = WhyNoView({.user = rules.user, .filter = given.filter.empty(), .roots = roots});
  }
  HR_TRY(ConfinementChosen chosen, ChooseConfinement(rules, roots, UsualDescriptorLimit(), given));
  for (const std::string& warning : chosen.warnings) LogWarning(warning);
  return std::move(chosen.confinement);
}

}  // namespace headrace::dataworker
