#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/reactor.h"
#include "tests/simulation/sim_descriptors.h"
#include "tests/simulation/sim_network.h"
#include "tests/simulation/sim_process.h"

namespace headrace::simulation {

// The reactor of a simulated process. It keeps what net/reactor.h says, on the one thread of the
// simulation: that thread is the reactor's, and callbacks run when the event queue runs them.
class SimReactor final : public net::Reactor {
 public:
  SimReactor(SimNetwork& network, SimDescriptors& descriptors, std::shared_ptr<SimProcess> process);
  // Stops.
  ~SimReactor() override;

  [[nodiscard]] const std::shared_ptr<SimProcess>& process() const { return process_; }
  // The process dies: nothing happens in it any more, and what it asks for is dropped. Its roles are
  // destroyed after that.
  void Kill(Death how);

  Status Start() override { return Status::Ok(); }
  Status Run() override { return Status::Ok(); }
  void Stop() override;
  [[nodiscard]] bool OnThread() const override { return true; }
  void Post(std::function<void()> task) override;
  Result<std::unique_ptr<net::Socket>> BindRouter(const std::string& endpoint,
                                                  net::SocketEvents events) override;
  Result<std::unique_ptr<net::Socket>> ConnectDealer(const std::string& endpoint,
                                                     net::SocketEvents events) override;
  net::TimerId AddTimer(Duration interval, std::function<void()> callback) override;
  net::TimerId AddOnce(Duration delay, std::function<void()> callback) override;
  void CancelTimer(net::TimerId timer) override;
  void WatchFd(int fd, std::function<void()> on_readable) override;
  void UnwatchFd(int fd) override { watches_.Unwatch(fd); }
  [[nodiscard]] net::DescriptorNetwork* descriptors() override { return descriptors_.get(); }
  [[nodiscard]] Clock& clock() const override { return events_.clock(); }

 private:
  struct Timer {
    Duration interval;  // zero: it runs once
    std::function<void()> callback;
    EventQueue::Event event;
  };
  net::TimerId Add(Duration delay, Duration interval, std::function<void()> callback);
  void Arm(net::TimerId timer, Duration delay);
  void RunTimer(net::TimerId timer);

  SimNetwork& network_;
  EventQueue& events_;
  SimWatches& watches_;
  const std::shared_ptr<SimProcess> process_;
  const std::unique_ptr<net::DescriptorNetwork> descriptors_;
  std::map<net::TimerId, Timer> timers_;
  net::TimerId last_timer_ = 0;
  // What was posted looks whether this still is.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace headrace::simulation
