#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/check.h"
#include "base/log.h"
#include "net/reactor_core_internal.h"

namespace headrace::net {
namespace {

constexpr int kMessagesPerTurn = 64;  // then timers, posts and other sockets run
constexpr std::uint64_t kWakeToken = 0;

}  // namespace

Status Core::Open() {
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoStatus(errno, "epoll");
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return ErrnoStatus(errno, "eventfd");
  Watch(wake_.get(), EPOLLIN, kWakeToken);
  return Status::Ok();
}

void Core::Watch(int fd, std::uint32_t events, Token token) {
  epoll_event event{.events = events, .data = {.u64 = token}};
  HR_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
}

void Core::Wake() {
  const std::uint64_t one = 1;
  HR_CHECK(write(wake_.get(), &one, sizeof(one)) == sizeof(one) || errno == EAGAIN);
}

void Core::Post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    posts_.push_back(std::move(task));
    if (posts_.size() > 1) return;  // the first has woken the loop
  }
  Wake();
}

void Core::RequestStop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  Wake();
}

bool Core::Enter() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(entered_, true)) return false;
  running_ = true;
  return true;
}

void Core::Loop() {
  thread_id_ = std::this_thread::get_id();
  for (;;) {
    bool stopping;
    {
      const std::lock_guard lock(mutex_);
      stopping = stopping_;
    }
    RunPosts();
    if (stopping) break;
    timers_.RunDue();
    DrainReady();
    Wait();
  }
  Finish();
  thread_id_ = std::thread::id();
}

void Core::RunPosts() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posts_);
  }
  for (std::function<void()>& task : tasks) {
    task();
    task = nullptr;  // releases what it holds on this thread, before the next task
  }
}

void Core::DrainReady() {
  std::unordered_set<Token> ready;
  ready.swap(ready_);
  for (const Token token : ready) {
    const auto found = sockets_.find(token);
    if (found == sockets_.end()) continue;
    const std::shared_ptr<SocketState> socket = found->second;  // callbacks may remove it
    if (DrainSocket(socket)) ready_.insert(token);
  }
}

// Returns whether there may be more.
bool Core::DrainSocket(const std::shared_ptr<SocketState>& socket) {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    if (!socket->zmq) return false;
    Incoming message;
    Status error;
    switch (socket->zmq->Receive(message, error)) {
      case ZmqSocket::Received::kNothing:
        return false;
      case ZmqSocket::Received::kMessage:
        if (socket->events.on_message) socket->events.on_message(std::move(message));
        break;
      case ZmqSocket::Received::kInvalid:
        if (socket->events.on_invalid) {
          socket->events.on_invalid(message.peer, error);
        } else {
          LogWarning("dropped a message error=\"" + error.ToString() + "\"");
        }
        break;
    }
  }
  return true;
}

int Core::WaitMillis() {
  {
    const std::lock_guard lock(mutex_);
    if (!posts_.empty() || stopping_) return 0;
  }
  if (!ready_.empty()) return 0;
  const std::optional<Duration> next = timers_.UntilNext();
  if (!next) return -1;
  // Rounded up: waking early would spin until the timer is due.
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(*next).count();
  return static_cast<int>(std::min<std::int64_t>(millis, 3'600'000));
}

void Core::Wait() {
  std::array<epoll_event, 64> events;
  const int count =
      epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), WaitMillis());
  HR_CHECK(count >= 0 || errno == EINTR);
  for (int i = 0; i < count; ++i) {
    const Token token = events[static_cast<std::size_t>(i)].data.u64;
    if (token == kWakeToken) {
      std::uint64_t ignored = 0;
      HR_CHECK(read(wake_.get(), &ignored, sizeof(ignored)) > 0 || errno == EAGAIN);
    } else if (sockets_.contains(token)) {
      ready_.insert(token);
    } else if (const auto watch = watches_.find(token); watch != watches_.end()) {
      const auto on_readable = watch->second.on_readable;  // it may remove its own watch
      (*on_readable)();
    }
  }
}

Result<std::shared_ptr<SocketState>> Core::Add(Result<std::unique_ptr<ZmqSocket>> socket,
                                               SocketEvents events) {
  if (!socket.ok()) return socket.status();
  auto state = std::make_shared<SocketState>();
  state->token = ++last_token_;
  state->zmq = std::move(*socket);
  state->events = std::move(events);
  state->endpoint = state->zmq->endpoint();
  Watch(state->zmq->fd(), EPOLLIN, state->token);
  sockets_.emplace(state->token, state);
  ready_.insert(state->token);
  if (ConnectionMonitor* monitor = state->zmq->monitor()) {
    WatchFd(monitor->fd(), [this, weak = std::weak_ptr(state)] {
      const auto alive = weak.lock();
      if (!alive || !alive->zmq || !alive->zmq->monitor()->TakeEnded()) return;
      while (DrainSocket(alive)) {  // the callback follows all messages that had come
      }
      if (alive->zmq) alive->events.on_disconnected();
    });
  }
  return state;
}

void Core::Remove(SocketState& socket) {
  if (!socket.zmq) return;
  if (const ConnectionMonitor* monitor = socket.zmq->monitor()) UnwatchFd(monitor->fd());
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.zmq->fd(), nullptr);
  socket.zmq.reset();
  sockets_.erase(socket.token);
}

void Core::WatchFd(int fd, std::function<void()> on_readable) {
  HR_CHECK(!watched_fds_.contains(fd));
  const Token token = ++last_token_;
  Watch(fd, EPOLLIN | EPOLLRDHUP, token);
  watches_.emplace(token,
                   FdWatch{fd, std::make_shared<std::function<void()>>(std::move(on_readable))});
  watched_fds_.emplace(fd, token);
}

void Core::UnwatchFd(int fd) {
  const auto found = watched_fds_.find(fd);
  if (found == watched_fds_.end()) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watches_.erase(found->second);
  watched_fds_.erase(found);
}

void Core::Finish() {
  while (!sockets_.empty()) {
    const std::shared_ptr<SocketState> socket = sockets_.begin()->second;
    Remove(*socket);
  }
  running_ = false;
}

}  // namespace headrace::net
