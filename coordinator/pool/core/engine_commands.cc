#include "coordinator/pool/core/engine_commands.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

namespace headrace::coordinator {
namespace {

constexpr std::size_t kMostOutput = std::size_t{64} << 20;
constexpr std::size_t kMostSaid = 500;  // of an error, for people

// What standard input reads; no descriptor: nothing.
Result<UniqueFd> InputOf(const std::string& text) {
  UniqueFd fd(::memfd_create("input", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "memory of a command's input");
  const auto size = static_cast<ssize_t>(text.size());
  if (::pwrite(fd.get(), text.data(), text.size(), 0) != size) {
    return ErrnoStatus(errno, "a command's input");
  }
  return fd;
}

// The last lines, on one line.
std::string Said(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.size() > kMostSaid) text = text.substr(text.size() - kMostSaid);
  std::string line(text);
  for (std::size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n', at)) {
    line.replace(at, 1, "; ");
  }
  return line;
}

SpawnOptions Options(const EngineCommands::Command& command) {
  SpawnOptions options;
  options.command = command.words;
  options.environment = command.environment;
  options.empty_input = true;
  options.close_others = true;
  options.own_group = true;
  return options;
}

std::string Seconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

EngineCommands::~EngineCommands() {
  for (auto& [number, running] : running_) {
    Close(running.output);
    Close(running.errors);
    reactor_.CancelTimer(running.deadline);
    reactor_.UnwatchFd(running.child.pidfd());
    running.child.SignalGroup(SIGKILL);  // not waited for: that could take for ever
  }
  for (const auto& [number, timer] : refused_) reactor_.CancelTimer(timer);
}

void EngineCommands::Start(Command command, Done done) {
  const std::int64_t number = ++last_;
  Running made;
  made.program = command.words.empty() ? "" : command.words.front();
  if (Status s = Spawn(command, made); !s.ok()) {
    refused_[number] =
        reactor_.AddOnce(Duration::zero(), [this, number, s, done = std::move(done)] {
          refused_.erase(number);
          done({s, ""});
        });
    return;
  }
  Running& running = running_[number] = std::move(made);
  running.done = std::move(done);
  running.deadline = reactor_.AddOnce(command.patience, [this, number] { OnDeadline(number); });
  Watch(number, &Running::output);
  Watch(number, &Running::errors);
  reactor_.WatchFd(running.child.pidfd(), [this, number] { OnEnd(number); });
}

Status EngineCommands::Spawn(const Command& command, Running& running) {
  SpawnOptions options = Options(command);
  UniqueFd input;
  if (!command.input.empty()) {
    HR_TRY(input, InputOf(command.input));
    options.empty_input = false;
    options.descriptors.emplace_back(input.get(), STDIN_FILENO);
  }
  std::array<UniqueFd, 2> theirs;
  std::size_t at = 0;
  for (Pipe* pipe : {&running.output, &running.errors}) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "a command's pipe");
    pipe->fd = UniqueFd(ends[0]);
    theirs[at] = UniqueFd(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    options.descriptors.emplace_back(ends[1], at == 0 ? STDOUT_FILENO : STDERR_FILENO);
    ++at;
  }
  HR_TRY(running.child, ChildProcess::Start(options));
  return Status::Ok();
}

Status EngineCommands::Run(const Command& command) {
  SpawnOptions options = Options(command);
  options.log = "/dev/null";
  HR_TRY(ChildProcess child, ChildProcess::Start(options));
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(command.patience);
  if (!child.AwaitEnd(patience)) {
    child.SignalGroup(SIGKILL);
    return DeadlineExceeded(command.words.front() + " took longer than " +
                            Seconds(command.patience));
  }
  const auto ended = child.Reap();
  if (ended && !ended->failed) return Status::Ok();
  return Unavailable(command.words.front() + " " + (ended ? ended->how : "ended"));
}

void EngineCommands::Watch(std::int64_t number, Pipe Running::*pipe) {
  reactor_.WatchFd((running_.at(number).*pipe).fd.get(),
                   [this, number, pipe] { Read(number, pipe); });
}

// Takes what is there. A pipe that ends, or gives too much, is watched no more.
void EngineCommands::Read(std::int64_t number, Pipe Running::*which) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  Pipe& pipe = found->second.*which;
  if (!pipe.fd.valid()) return;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::read(pipe.fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0 || pipe.text.size() > kMostOutput) return Close(pipe);
    pipe.text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void EngineCommands::Close(Pipe& pipe) {
  if (!pipe.fd.valid()) return;
  reactor_.UnwatchFd(pipe.fd.get());
  pipe.fd.reset();
}

void EngineCommands::OnDeadline(std::int64_t number) {
  Running& running = running_.at(number);
  running.child.SignalGroup(SIGKILL);
  Close(running.output);
  Close(running.errors);
  const Done done = std::exchange(running.done, nullptr);
  done({DeadlineExceeded(running.program + " did not end in time, and was killed"), ""});
}

void EngineCommands::OnEnd(std::int64_t number) {
  Running& running = running_.at(number);
  const int pidfd = running.child.pidfd();
  reactor_.UnwatchFd(pidfd);
  const auto how = running.child.Reap();
  if (!how) return reactor_.WatchFd(pidfd, [this, number] { OnEnd(number); });
  // What it wrote is in the pipes. Who has inherited them may write on, and is not waited for.
  Read(number, &Running::output);
  Read(number, &Running::errors);
  Close(running.output);
  Close(running.errors);
  reactor_.CancelTimer(running.deadline);
  const Running ended = std::move(running);
  running_.erase(number);
  if (!ended.done) return;
  Status status;
  if (how->failed) {
    const std::string said = Said(ended.errors.text);
    status = Unavailable(ended.program + " " + how->how + (said.empty() ? "" : ": " + said));
  }
  ended.done({std::move(status), ended.output.text});
}

}  // namespace headrace::coordinator
