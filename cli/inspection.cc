#include "cli/inspection.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/process/spawn.h"
#include "base/unique_fd.h"
#include "cli/commands.h"
#include "cli/signals.h"

namespace headrace::cli {
namespace {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Reads what has come. False: interrupted or at the end.
bool ReadMore(int fd, std::string& received) {
  std::array<char, 65536> piece;
  const ssize_t size = ::read(fd, piece.data(), piece.size());
  if (size <= 0) return false;
  received.append(piece.data(), static_cast<std::size_t>(size));
  return true;
}

// Waits until the whole answer is there or the program has ended.
Result<std::optional<Answer>> Await(int answer, int program) {
  std::string received;
  for (;;) {
    std::array<pollfd, 2> wanted{pollfd{answer, POLLIN, 0}, pollfd{program, POLLIN, 0}};
    if (::poll(wanted.data(), wanted.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "poll");
    }
    if ((wanted[0].revents & POLLIN) != 0) {
      (void)ReadMore(answer, received);
      HR_TRY(std::optional<Answer> whole, ParseAnswer(received));
      if (whole) return whole;
    } else if (wanted[1].revents != 0) {
      return std::optional<Answer>();
    }
  }
}

int ExitCode(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Numbered(std::int64_t loaders) {
  return loaders == 1 ? "a DataLoader" : "DataLoader number " + std::to_string(loaders);
}

int Ended(const Inspection& inspection, int status) {
  const int code = ExitCode(status);
  const std::string with = code == 0 ? "" : " with exit code " + std::to_string(code);
  Fail(NotFound("the program ended" + with + " before the first iter() of " +
                Numbered(inspection.loaders) + "; nothing to " + inspection.what));
  return code == 0 ? 1 : code;
}

int Print(const Answer& answer) {
  const bool whole =
      std::fwrite(answer.text.data(), 1, answer.text.size(), stdout) == answer.text.size();
  if (!whole || std::fflush(stdout) != 0) return Fail(ErrnoStatus(errno, "standard output"));
  return answer.code;
}

}  // namespace

std::string InspectionSettings(const Inspection& inspection, std::int64_t pid, int answer,
                               int turn) {
  const std::string descriptors = "/proc/" + std::to_string(pid) + "/fd/";
  return nlohmann::json{{"what", inspection.what},
                        {"loaders", inspection.loaders},
                        {"batches", inspection.batches},
                        {"workers", inspection.workers},
                        {"json", inspection.json},
                        {"svg", inspection.svg},
                        {"answer", descriptors + std::to_string(answer)},
                        {"turn", descriptors + std::to_string(turn)}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::optional<Answer>> ParseAnswer(std::string_view received) {
  const auto damaged = [] { return DataLoss("the program's answer is damaged"); };
  const std::size_t line = received.find('\n');
  if (line == std::string_view::npos) {
    if (received.size() > 40) return damaged();
    return std::optional<Answer>();
  }
  Answer answer;
  std::size_t size = 0;
  const char* const end = received.data() + line;
  const auto code = std::from_chars(received.data(), end, answer.code);
  if (code.ec != std::errc() || code.ptr == end || *code.ptr != ' ') return damaged();
  const auto length = std::from_chars(code.ptr + 1, end, size);
  if (length.ec != std::errc() || length.ptr != end) return damaged();
  received.remove_prefix(line + 1);
  if (received.size() < size) return std::optional<Answer>();
  answer.text = received.substr(0, size);
  return std::optional<Answer>(std::move(answer));
}

int Inspect(const Inspection& inspection, const std::vector<std::string>& program) {
  Result<Pipe> answer = MakePipe();
  Result<Pipe> turn = MakePipe();
  if (!answer.ok()) return Fail(answer.status());
  if (!turn.ok()) return Fail(turn.status());
  if (::write(turn->write.get(), "1", 1) != 1) return Fail(ErrnoStatus(errno, "pipe"));
  const std::string settings =
      InspectionSettings(inspection, ::getpid(), answer->write.get(), turn->read.get());
  ::setenv("HEADRACE_INSPECT", settings.c_str(), 1);
  const Result<pid_t> child =
      Spawn({.command = program, .output_to_errors = true, .reset_signals = false});
  if (!child.ok()) {
    Fail(child.status());
    return 127;  // the code that a shell gives
  }
  // The program handles Ctrl-C; we end when it ends.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  Result<std::optional<Answer>> found = std::optional<Answer>();
  if (Result<UniqueFd> ended = WatchProcess(*child); ended.ok()) {
    found = Await(answer->read.get(), ended->get());
  }
  turn->write.reset();
  // A launcher or a shell would go on after the process that answered.
  if (!found.ok() || *found) ::kill(*child, SIGKILL);
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!found.ok()) return Fail(found.status());
  return *found ? Print(**found) : Ended(inspection, status);
}

}  // namespace headrace::cli
