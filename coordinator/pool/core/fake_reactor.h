#pragma once

#include <poll.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/reactor.h"

namespace headrace::coordinator {

// Test double: its timers use a clock that the test moves, and it polls real descriptors when the
// test says. One thread. It has no sockets, except those of a derived class.
class FakeReactor : public net::Reactor {
 public:
  Status Start() override { return Status::Ok(); }
  Status Run() override { return Status::Ok(); }
  void Stop() override {}
  [[nodiscard]] bool OnThread() const override { return true; }
  void Post(std::function<void()> task) override { task(); }
  Result<std::unique_ptr<net::Socket>> BindRouter(const std::string&, net::SocketEvents) override {
    return Unsupported("no sockets here");
  }
  Result<std::unique_ptr<net::Socket>> ConnectDealer(const std::string&,
                                                     net::SocketEvents) override {
    return Unsupported("no sockets here");
  }
  net::TimerId AddTimer(Duration interval, std::function<void()> callback) override {
    return Add(interval, interval, std::move(callback));
  }
  net::TimerId AddOnce(Duration delay, std::function<void()> callback) override {
    return Add(delay, Duration::zero(), std::move(callback));
  }
  void CancelTimer(net::TimerId timer) override { timers_.erase(timer); }
  void WatchFd(int fd, std::function<void()> on_readable) override {
    watched_[fd] = std::move(on_readable);
  }
  void UnwatchFd(int fd) override { watched_.erase(fd); }
  [[nodiscard]] Clock& clock() const override { return clock_; }

  // Moves the clock and runs the timers that are due, in order of time.
  void Advance(Duration by) {
    const SteadyTime until = clock_.Now() + by;
    for (;;) {
      auto next = timers_.end();
      for (auto it = timers_.begin(); it != timers_.end(); ++it) {
        if (it->second.due <= until && (next == timers_.end() || it->second.due < next->second.due))
          next = it;
      }
      if (next == timers_.end()) break;
      if (next->second.due > clock_.Now()) clock_.Advance(next->second.due - clock_.Now());
      const auto callback = next->second.callback;
      if (next->second.interval == Duration::zero()) {
        timers_.erase(next);
      } else {
        next->second.due += next->second.interval;
      }
      callback();
    }
    clock_.Advance(until - clock_.Now());
  }
  // Waits until a watched descriptor is readable and runs its callback. False: none was in that time.
  bool RunOneFd(int patience_ms = 10'000) {
    std::vector<pollfd> fds;
    for (const auto& [fd, callback] : watched_) fds.push_back({fd, POLLIN, 0});
    if (::poll(fds.data(), fds.size(), patience_ms) <= 0) return false;
    for (const pollfd& fd : fds) {
      if (fd.revents == 0) continue;
      const auto callback = watched_.at(fd.fd);
      callback();
      return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t timers() const { return timers_.size(); }
  [[nodiscard]] std::size_t watched() const { return watched_.size(); }

 private:
  struct Timer {
    SteadyTime due;
    Duration interval;
    std::function<void()> callback;
  };
  net::TimerId Add(Duration delay, Duration interval, std::function<void()> callback) {
    timers_[++last_] = {clock_.Now() + delay, interval, std::move(callback)};
    return last_;
  }

  mutable FakeClock clock_;
  std::map<net::TimerId, Timer> timers_;
  std::map<int, std::function<void()>> watched_;
  net::TimerId last_ = 0;
};

}  // namespace headrace::coordinator
