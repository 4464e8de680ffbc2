#include "dataworker/stage/confine/stage_process.h"

#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>

#include "dataworker/stage/confine/call_filter.h"
#include "dataworker/stage/confine/file_view.h"
#include "dataworker/stage/confine/namespaces.h"
#include "dataworker/stage/confine/rights.h"
#include "dataworker/stage/confine/stage_variables.h"

namespace headrace::dataworker {
namespace {

constexpr int kFirstOther = 4;  // 3 is the way to the worker
constexpr char kBefore[] = "--";

// Of root: over files and over processes of its own. Nothing that acts on the host.
constexpr std::array kOverFiles = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER,
                                   CAP_FSETID, CAP_KILL,         CAP_SETGID,          CAP_SETUID};
// Where it sees little, of root: it reads what root reads.
constexpr std::array kReading = {CAP_DAC_READ_SEARCH};

Status Limit(__rlimit_resource resource, std::uint64_t most, std::uint64_t usual,
             const std::string& what) {
  if (most == 0 && usual == 0) return {};
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return ErrnoStatus(errno, what);
  if (most > 0) now.rlim_max = std::min<rlim_t>(now.rlim_max, most);
  now.rlim_cur = std::min(usual > 0 ? usual : now.rlim_cur, now.rlim_max);
  return ::setrlimit(resource, &now) == 0 ? Status() : ErrnoStatus(errno, what);
}

Status SetLimits(const Confinement& to) {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) return ErrnoStatus(errno, "RLIMIT_CORE");
  HR_RETURN_IF_ERROR(Limit(RLIMIT_DATA, to.memory_bytes, to.memory_bytes, "RLIMIT_DATA"));
  HR_RETURN_IF_ERROR(Limit(RLIMIT_NOFILE, to.open_files, to.usual_files, "RLIMIT_NOFILE"));
  return Limit(RLIMIT_NPROC, to.processes, to.processes, "RLIMIT_NPROC");
}

void SetEnvironment(const Confinement& to) {
  if (to.few_variables) KeepVariablesOfStages(to.variables);
  if (!to.user.empty()) {
    if (const passwd* user = ::getpwnam(to.user.c_str()); user != nullptr) {
      ::setenv("HOME", user->pw_dir, 1);
    }
    ::setenv("USER", to.user.c_str(), 1);
    ::setenv("LOGNAME", to.user.c_str(), 1);
  }
  if (to.roots.empty()) return;
  // Caches of libraries go where they can be written.
  ::setenv("HOME", "/tmp", 1);
  ::unsetenv("TMPDIR");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("XDG_RUNTIME_DIR");
}

Status Filter(const Identity& who, bool in_view) {
  std::span<const int> kept;
  if (who.user == 0) kept = in_view ? std::span<const int>(kReading) : kOverFiles;
  HR_RETURN_IF_ERROR(KeepCapabilities(kept));
  return FilterCalls();
}

// `python`: of the command; empty: none.
Status Confine(const Confinement& to, const std::string& python) {
  std::optional<FileView> view;
  if (!to.roots.empty()) {
    HR_TRY(view, FileView::Plan(to.roots, python));
  }
  SetEnvironment(to);  // while it can still ask who the user is
  HR_TRY(const Identity who, IdentityOf(to.user));
  if (view) HR_RETURN_IF_ERROR(EnterNamespaces(who));
  HR_RETURN_IF_ERROR(Become(who));
  if (view) HR_RETURN_IF_ERROR(view->Enter(to.memory_bytes));
  ::close_range(kFirstOther, ~0U, 0);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return ErrnoStatus(errno, "PR_SET_NO_NEW_PRIVS");
  }
  if (to.filter) HR_RETURN_IF_ERROR(Filter(who, view.has_value()));
  return SetLimits(to);  // last: what is done here may need more than the process may have
}

// Without what a program does at its end, which a confined one may not be able to.
[[noreturn]] void End(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

[[noreturn]] void Fail(const Status& why) {
  std::fprintf(stderr, "headrace worker: a Python stage could not be confined: %s\n",
               why.message().c_str());
  End(kNotConfined);
}

}  // namespace

std::vector<std::string> StageProcessCommand(const Confinement& confinement,
                                             const std::vector<std::string>& command) {
  std::vector<std::string> words = {"/proc/self/exe", kStageProcess};
  for (std::string& word : confinement.Words()) words.push_back(std::move(word));
  if (command.empty()) return words;
  words.emplace_back(kBefore);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

void StageProcessMain(const std::vector<std::string>& words) {
  const auto before = std::find(words.begin(), words.end(), kBefore);
  const Result<Confinement> to = Confinement::Parse({words.begin(), before});
  if (!to.ok()) Fail(to.status());
  if (before == words.end()) {
    const Status status = Confine(*to, "");
    if (!status.ok()) std::fputs(status.message().c_str(), stdout);
    End(status.ok() ? 0 : kNotConfined);
  }
  std::vector<char*> command;
  for (auto word = before + 1; word != words.end(); ++word) {
    command.push_back(const_cast<char*>(word->c_str()));
  }
  if (command.empty()) Fail(InvalidArgument("no command"));
  command.push_back(nullptr);
  if (Status status = Confine(*to, command[0]); !status.ok()) Fail(status);
  ::execvp(command[0], command.data());
  Fail(ErrnoStatus(errno, std::string("start ") + command[0]));
}

}  // namespace headrace::dataworker
