#include "dataworker/stage_host/zygote.h"

#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "dataworker/stage_host/stage_request.h"

namespace headrace::dataworker {
namespace {

constexpr int kChildFd = 3;
constexpr Duration kReapAgain = std::chrono::milliseconds(5);

std::string Settings(const Zygote::Options& options) {
  const nlohmann::json settings = {{"version", options.stage.version},
                                   {"sys_path", options.stage.sys_path},
                                   {"working_directory", options.stage.working_directory},
                                   {"packages", options.stage.packages},
                                   {"catch_output", options.catch_output}};
  // A path that is not UTF-8 does not throw; it is not found then.
  return settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

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

// Waits for a killed process without holding up anybody.
void ReapLater(net::Reactor& reactor, std::int64_t pid) {
  const auto fd = std::make_shared<net::UniqueFd>(
      static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  if (!fd->valid()) return;
  reactor.WatchFd(fd->get(), [&reactor, fd, pid] {
    int status = 0;
    if (::waitpid(static_cast<pid_t>(pid), &status, WNOHANG) == 0) return;
    // Posted: the callback that is running holds the descriptor.
    reactor.Post([&reactor, fd] {
      if (fd->valid()) reactor.UnwatchFd(fd->get());
      fd->reset();
    });
  });
}

}  // namespace

Zygote::Zygote(net::Reactor& reactor, FrameSocket control, Events events)
    : reactor_(reactor), control_(std::move(control)), events_(std::move(events)) {}

Result<std::unique_ptr<Zygote>> Zygote::Start(net::Reactor& reactor, const Options& options,
                                              const BlobContent& bundle, Events events) {
  HR_TRY(const net::UniqueFd file, MemoryFile("headrace-bundle", *bundle));
  HR_TRY(auto pair, FrameSocket::MakePair());
  std::unique_ptr<Zygote> zygote(new Zygote(reactor, std::move(pair.first), std::move(events)));
  HR_RETURN_IF_ERROR(zygote->Spawn(options, pair.second.get()));
  const std::string settings = Settings(options);
  const std::array<ByteSpan, 1> parts{AsBytes(settings)};
  HR_RETURN_IF_ERROR(zygote->control_.Send(StageMessage::kStart, parts, std::array{file.get()}));
  reactor.WatchFd(zygote->control_.fd(), [raw = zygote.get()] { raw->OnReadable(); });
  zygote->watching_ = true;
  return zygote;
}

Status Zygote::Spawn(const Options& options, int child_fd) {
  std::vector<std::string> words{options.executable, "-m", "headrace.stage_host",
                                 std::to_string(kChildFd)};
  std::vector<std::string> variables = Environment(options.stage);
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
    return {Code::kUnsupported,
            "start Python stage: " + options.executable + ": " + std::strerror(error)};
  }
  pid_ = pid;
  if (options.memory_bytes > 0) {  // hosts inherit it
    const rlimit limit{options.memory_bytes, options.memory_bytes};
    if (::prlimit(pid, RLIMIT_DATA, &limit, nullptr) != 0) {
      return ErrnoStatus(errno, "limit the memory of a Python stage");
    }
  }
  return {};
}

Zygote::~Zygote() {
  if (watching_) reactor_.UnwatchFd(control_.fd());
  if (reap_timer_ != 0) reactor_.CancelTimer(reap_timer_);
  if (pid_ == 0) return;
  ::kill(static_cast<pid_t>(pid_), SIGKILL);  // hosts die with it (PR_SET_PDEATHSIG)
  ReapLater(reactor_, pid_);
}

Result<FrameSocket> Zygote::Fork(std::uint64_t host) {
  HR_TRY(auto pair, FrameSocket::MakePair());
  const std::array<ByteSpan, 1> parts{std::as_bytes(std::span(&host, 1))};
  const Status sent = control_.Send(StageMessage::kFork, parts, std::array{pair.second.get()});
  if (!sent.ok()) {
    OnHangup();
    return sent;
  }
  return std::move(pair.first);
}

void Zygote::OnReadable() {
  const Status status = control_.Receive([this](StageFrame&& frame) { OnFrame(frame); });
  if (!status.ok()) OnHangup();
}

void Zygote::OnHangup() {
  if (!watching_) return;
  reactor_.UnwatchFd(control_.fd());
  watching_ = false;
  ::kill(static_cast<pid_t>(pid_), SIGKILL);  // one that only fell silent serves nobody either
  reap_timer_ = reactor_.AddTimer(kReapAgain, [this] { Reap(); });
}

void Zygote::Reap() {
  int status = 0;
  const pid_t reaped = ::waitpid(static_cast<pid_t>(pid_), &status, WNOHANG);
  if (reaped == 0) return;
  reactor_.CancelTimer(reap_timer_);
  reap_timer_ = 0;
  pid_ = 0;
  std::string how = "its Python process has ended";
  if (reaped > 0 && WIFSIGNALED(status)) {
    const char* name = ::sigdescr_np(WTERMSIG(status));
    how = std::string("its Python process was killed by signal: ") +
          (name != nullptr ? name : std::to_string(WTERMSIG(status)));
  } else if (reaped > 0) {
    how += " with exit code " + std::to_string(WEXITSTATUS(status));
  }
  events_.on_lost(how);
}

void Zygote::OnFrame(const StageFrame& frame) {
  const auto number = [&](std::size_t part) {
    std::uint64_t value = 0;
    if (frame.parts[part].size() == sizeof(value)) {
      std::memcpy(&value, frame.parts[part].data(), sizeof(value));
    }
    return value;
  };
  if (frame.kind == StageMessage::kReady && frame.parts.size() == 2) {
    const std::string problem(AsText(frame.parts[0]));
    const std::string state(AsText(frame.parts[1]));
    Status status;
    if (!problem.empty()) {
      status = Unsupported("the pipeline can't be loaded on this worker: " + problem);
    } else if (!state.empty()) {
      status = {Code::kInfeasible, state};
    }
    events_.on_ready(status);
  } else if (frame.kind == StageMessage::kForked && frame.parts.size() == 2) {
    events_.on_forked(number(0), static_cast<std::int64_t>(number(1)));
  } else if (frame.kind == StageMessage::kEnded && frame.parts.size() == 2) {
    events_.on_ended(number(0), std::string(AsText(frame.parts[1])));
  } else {
    LogWarning("unknown frame of a stage host kind=" +
               std::to_string(static_cast<std::uint32_t>(frame.kind)));
  }
}

}  // namespace headrace::dataworker
