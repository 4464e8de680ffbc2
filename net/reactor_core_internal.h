#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "net/reactor.h"
#include "net/timer_queue_internal.h"
#include "net/zmq_socket_internal.h"

namespace headrace::net {

// A socket as its reactor sees it. The user's handle shares it. The first of the two to end closes
// it.
struct SocketState {
  std::uint64_t token = 0;
  std::unique_ptr<ZmqSocket> zmq;  // empty: closed
  SocketEvents events;
  std::string endpoint;
};

// The state of a reactor and its socket handles, which may outlive the reactor. Wake, Post,
// RequestStop and Enter are thread-safe. The rest is for the reactor thread, or for any thread
// while the reactor does not run.
class Core {
 public:
  Core(Clock& clock, std::shared_ptr<Context> context)
      : clock_(clock), timers_(clock), context_(std::move(context)) {}

  Status Open();
  void Loop();
  // Closes the sockets. Nothing runs after it.
  void Finish();

  [[nodiscard]] bool forked() const { return context_->InForkedChild(); }
  [[nodiscard]] bool OnThread() const { return thread_id_.load() == std::this_thread::get_id(); }
  // True on the reactor thread, or while there is none.
  [[nodiscard]] bool MayTouch() const { return OnThread() || !running_.load(); }

  void Post(std::function<void()> task);
  void RequestStop();
  // Claims the only run; false: it was claimed before.
  [[nodiscard]] bool Enter();

  // Takes over the socket that Bind or Connect made.
  Result<std::shared_ptr<SocketState>> Add(Result<std::unique_ptr<ZmqSocket>> socket,
                                           SocketEvents events);
  void Remove(SocketState& socket);
  void MarkReady(const SocketState& socket) { ready_.insert(socket.token); }
  void WatchFd(int fd, std::function<void()> on_readable);
  void UnwatchFd(int fd);

  Clock& clock() { return clock_; }
  TimerQueue& timers() { return timers_; }
  const std::shared_ptr<Context>& context() const { return context_; }

 private:
  using Token = std::uint64_t;
  struct FdWatch {
    int fd = -1;
    std::shared_ptr<std::function<void()>> on_readable;
  };

  void Wake();
  void RunPosts();
  void DrainReady();
  bool DrainSocket(const std::shared_ptr<SocketState>& socket);
  void Wait();
  [[nodiscard]] int WaitMillis();
  void Watch(int fd, std::uint32_t events, Token token);

  Clock& clock_;
  TimerQueue timers_;
  const std::shared_ptr<Context> context_;
  UniqueFd epoll_;
  UniqueFd wake_;
  Token last_token_ = 0;
  std::unordered_map<Token, std::shared_ptr<SocketState>> sockets_;
  std::unordered_map<Token, FdWatch> watches_;
  std::unordered_map<int, Token> watched_fds_;
  std::unordered_set<Token> ready_;  // sockets that may have something to receive

  std::atomic<std::thread::id> thread_id_{};
  std::atomic<bool> running_{false};

  std::mutex mutex_;  // guards what follows
  std::vector<std::function<void()>> posts_;
  bool entered_ = false;
  bool stopping_ = false;
};

}  // namespace headrace::net
