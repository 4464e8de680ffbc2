#include "coordinator/pool/core/engine_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/plain_text.h"

namespace headrace::coordinator {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostLastWords = 500;
constexpr Duration kUntilPipeHasRoom = std::chrono::milliseconds(20);

// For its input: a socket tells of an end by an error, where a pipe would raise SIGPIPE.
Status MakeSockets(UniqueFd& theirs, UniqueFd& ours) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoStatus(errno, "a helper's input");
  }
  theirs = UniqueFd(ends[0]);
  ours = UniqueFd(ends[1]);
  return Status::Ok();
}

ssize_t Write(int fd, const std::string& text) {
  return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

Status MakePipe(UniqueFd& read_end, UniqueFd& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "a helper's pipe");
  read_end = UniqueFd(ends[0]);
  write_end = UniqueFd(ends[1]);
  return Status::Ok();
}

// Appends what is there. False: the pipe has ended.
bool ReadAll(int fd, std::string& text, std::size_t most) {
  std::array<char, 65536> buffer;
  while (text.size() <= most) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<EngineHelper>> EngineHelper::Start(net::Reactor& reactor,
                                                          std::vector<std::string> words,
                                                          Events events) {
  std::unique_ptr<EngineHelper> made(
      new EngineHelper(reactor, words.empty() ? "" : words.front(), std::move(events)));
  UniqueFd their_input, their_output, their_errors;
  HR_RETURN_IF_ERROR(MakeSockets(their_input, made->input_));
  HR_RETURN_IF_ERROR(MakePipe(made->output_, their_output));
  HR_RETURN_IF_ERROR(MakePipe(made->errors_, their_errors));
  for (const UniqueFd* each : {&made->input_, &made->output_, &made->errors_}) {
    ::fcntl(each->get(), F_SETFL, O_NONBLOCK);
  }
  SpawnOptions options;
  options.command = std::move(words);
  options.close_others = true;
  options.own_group = true;
  options.descriptors = {{their_input.get(), STDIN_FILENO},
                         {their_output.get(), STDOUT_FILENO},
                         {their_errors.get(), STDERR_FILENO}};
  HR_TRY(made->child_, ChildProcess::Start(options));
  made->Watch();
  return made;
}

EngineHelper::~EngineHelper() {
  *lives_ = false;
  Unwatch();
  child_.SignalGroup(SIGKILL);
}

void EngineHelper::Watch() {
  watched_ = true;
  reactor_.WatchFd(output_.get(), [this] { ReadLines(); });
  reactor_.WatchFd(errors_.get(), [this] { ReadErrors(); });
  reactor_.WatchFd(child_.pidfd(), [this] { OnEnd(); });
}

void EngineHelper::Unwatch() {
  if (again_) reactor_.CancelTimer(*again_);
  again_.reset();
  if (!std::exchange(watched_, false)) return;
  if (output_.valid()) reactor_.UnwatchFd(output_.get());
  if (errors_.valid()) reactor_.UnwatchFd(errors_.get());
  reactor_.UnwatchFd(child_.pidfd());
}

void EngineHelper::Send(std::string_view text) {
  unsent_.append(text);
  if (!again_) Flush();
}

void EngineHelper::Flush() {
  while (!unsent_.empty() && input_.valid()) {
    const ssize_t count = Write(input_.get(), unsent_);
    if (count >= 0) {
      unsent_.erase(0, static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      again_ = reactor_.AddOnce(kUntilPipeHasRoom, [this] {
        again_.reset();
        Flush();
      });
      return;
    } else if (errno != EINTR) {
      unsent_.clear();  // it has ended, as OnEnd will tell
    }
  }
}

void EngineHelper::ReadLines() {
  if (!output_.valid()) return;
  const bool more = ReadAll(output_.get(), unread_, kLongestLine);
  const std::shared_ptr<bool> lives = lives_;
  const auto on_line = events_.on_line;  // lives on where the callback destroys this
  std::size_t begin = 0;
  for (std::size_t end = unread_.find('\n'); end != std::string::npos;
       end = unread_.find('\n', begin)) {
    const std::string line = unread_.substr(begin, end - begin);
    begin = end + 1;
    if (on_line) on_line(line);
    if (!*lives) return;
  }
  unread_.erase(0, begin);
  if (unread_.size() > kLongestLine) {
    said_ = "a line is too long";
    unread_.clear();
    child_.SignalGroup(SIGKILL);
  }
  if (more) return;
  if (watched_) reactor_.UnwatchFd(output_.get());
  output_.reset();
}

void EngineHelper::ReadErrors() {
  if (!errors_.valid()) return;
  const bool more = ReadAll(errors_.get(), said_, kLongestLine);
  if (said_.size() > kMostLastWords) said_.erase(0, said_.size() - kMostLastWords);
  if (more) return;
  if (watched_) reactor_.UnwatchFd(errors_.get());
  errors_.reset();
}

void EngineHelper::OnEnd() {
  const auto how = child_.Look();
  if (!how) return;
  const std::shared_ptr<bool> lives = lives_;
  ReadLines();
  if (!*lives) return;
  ReadErrors();
  Unwatch();
  child_.Reap();
  std::string why = program_ + " " + how->how;
  while (!said_.empty() && said_.back() == '\n') said_.pop_back();
  if (!said_.empty()) why += ": " + said_.substr(said_.rfind('\n') + 1);
  const auto on_end = events_.on_end;
  if (on_end) on_end(Unavailable(PlainText(why, kMostLastWords)));
}

bool EngineHelper::Finish(Duration patience) {
  Unwatch();
  const SteadyTime until = std::chrono::steady_clock::now() + patience;
  while (!unsent_.empty() && std::chrono::steady_clock::now() < until) {
    pollfd room{input_.get(), POLLOUT, 0};
    (void)::poll(&room, 1, 100);
    const ssize_t count = Write(input_.get(), unsent_);
    if (count > 0) unsent_.erase(0, static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  input_.reset();
  // Its words are read meanwhile: a full pipe would hold it up.
  bool ended = false;
  while (!ended && std::chrono::steady_clock::now() < until) {
    ended = child_.AwaitEnd(std::chrono::milliseconds(50));
    std::string thrown_away;
    if (output_.valid() && !ReadAll(output_.get(), thrown_away, kLongestLine)) output_.reset();
    if (errors_.valid() && !ReadAll(errors_.get(), thrown_away, kLongestLine)) errors_.reset();
  }
  if (!ended) child_.SignalGroup(SIGKILL);
  child_.Reap();
  return ended;
}

}  // namespace headrace::coordinator
