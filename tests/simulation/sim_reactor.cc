#include "tests/simulation/sim_reactor.h"

#include <utility>

#include "base/check.h"

namespace headrace::simulation {

SimReactor::SimReactor(SimNetwork& network, SimDescriptors& descriptors,
                       std::shared_ptr<SimProcess> process)
    : network_(network),
      events_(network.events()),
      watches_(descriptors.watches()),
      process_(std::move(process)),
      descriptors_(descriptors.Of(process_)) {}

SimReactor::~SimReactor() { Stop(); }

void SimReactor::Kill(Death how) {
  if (!process_->alive()) return;
  process_->Kill();
  Stop();
  network_.OnDeath(*process_, how);
}

void SimReactor::Stop() {
  alive_.reset();
  for (auto& [id, timer] : timers_) events_.Cancel(timer.event);
  timers_.clear();
}

void SimReactor::Post(std::function<void()> task) {
  if (!alive_) return;
  events_.After(Duration::zero(), [this, weak = std::weak_ptr(alive_), task = std::move(task)] {
    if (weak.expired()) return;
    process_->Run([weak, task] {
      if (!weak.expired()) task();
    });
  });
}

Result<std::unique_ptr<net::Socket>> SimReactor::BindRouter(const std::string& endpoint,
                                                            net::SocketEvents events) {
  return network_.BindRouter(process_, endpoint, std::move(events));
}

Result<std::unique_ptr<net::Socket>> SimReactor::ConnectDealer(const std::string& endpoint,
                                                               net::SocketEvents events) {
  return network_.ConnectDealer(process_, endpoint, std::move(events));
}

net::TimerId SimReactor::AddTimer(Duration interval, std::function<void()> callback) {
  HR_CHECK(interval > Duration::zero());
  return Add(interval, interval, std::move(callback));
}

net::TimerId SimReactor::AddOnce(Duration delay, std::function<void()> callback) {
  return Add(delay, Duration::zero(), std::move(callback));
}

net::TimerId SimReactor::Add(Duration delay, Duration interval, std::function<void()> callback) {
  const net::TimerId id = ++last_timer_;
  if (!alive_) return id;
  timers_[id] = {interval, std::move(callback), {}};
  Arm(id, delay);
  return id;
}

void SimReactor::Arm(net::TimerId timer, Duration delay) {
  timers_.at(timer).event = events_.After(delay, [this, timer, weak = std::weak_ptr(alive_)] {
    if (weak.expired()) return;
    process_->Run([this, timer, weak] {
      if (!weak.expired()) RunTimer(timer);
    });
  });
}

void SimReactor::RunTimer(net::TimerId timer) {
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  const Duration interval = found->second.interval;
  std::function<void()> callback = std::move(found->second.callback);
  if (interval == Duration::zero()) timers_.erase(found);
  const std::weak_ptr<const bool> weak(alive_);
  callback();
  if (weak.expired() || interval == Duration::zero()) return;
  const auto again = timers_.find(timer);
  if (again == timers_.end()) return;  // it cancelled itself
  again->second.callback = std::move(callback);
  Arm(timer, interval);
}

void SimReactor::CancelTimer(net::TimerId timer) {
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  events_.Cancel(found->second.event);
  timers_.erase(found);
}

void SimReactor::WatchFd(int fd, std::function<void()> on_readable) {
  watches_.Watch(fd, process_, std::move(on_readable));
}

}  // namespace headrace::simulation
