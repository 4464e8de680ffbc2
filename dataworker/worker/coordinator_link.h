#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/reactor.h"
#include "schemas/wire/control.h"

namespace headrace::dataworker {

// The worker's side of the control plane.
//
//   registering -WorkerRegistered-> registered -directive says kNotFound-> registering
//
// It repeats the registration until it is answered, with the same token, so a repeat is the same
// worker. Then a heartbeat goes out each heartbeat_ms, whatever else happens. An absent coordinator
// changes nothing for trainers. Reactor thread.
class CoordinatorLink {
 public:
  struct Events {
    std::function<wire::WorkerHeartbeat()> load;  // request and worker are filled in here
    std::function<void(WorkerId)> on_registered;
    std::function<void()> on_drain;
    // Called with the leases and grants that hold after it. `asked`: when the heartbeat went out
    // that it answers; nullopt: it came unasked.
    std::function<void(const wire::WorkerDirective&, std::optional<SteadyTime> asked)> on_directive;
    // Called when the coordinator refuses this worker (another release, not allowed).
    std::function<void(const Status&)> on_refused;
  };
  // `token`: of MakeToken, this process's own. It tells the coordinator who speaks.
  static Result<std::unique_ptr<CoordinatorLink>> Open(net::Reactor& reactor,
                                                       const std::string& endpoint,
                                                       wire::WorkerInfo info, std::string token,
                                                       Events events);
  ~CoordinatorLink();

  [[nodiscard]] WorkerId worker() const { return worker_; }
  // The number of directives that were followed.
  [[nodiscard]] std::uint64_t directives() const { return directives_; }
  // Asks for no more leases here. Heartbeats go on while the worker answers its requests.
  void Leave();
  // Sends the last totals, because the worker ends now. Call it last.
  void Gone();

 private:
  CoordinatorLink(net::Reactor& reactor, wire::WorkerInfo info, std::string token, Events events);
  void OnMessage(const wire::Body& body);
  void Register();
  void Beat();
  void StopTimer();
  void StartTimer(Duration interval, void (CoordinatorLink::*tick)());

  net::Reactor& reactor_;
  wire::WorkerInfo info_;
  const Events events_;
  std::string token_;
  std::unique_ptr<net::Socket> socket_;
  std::string endpoint_;
  int unanswered_ = 0;      // requests to be registered
  net::TimerId timer_ = 0;  // 0: none
  std::uint64_t request_ = 0;
  std::uint64_t beats_ = 0;  // since it registered
  std::uint64_t directives_ = 0;
  std::map<std::uint64_t, SteadyTime> asked_;  // when the last heartbeats went out, by request
  WorkerId worker_;
  bool draining_ = false;  // by the coordinator's word
  bool left_ = false;
};

}  // namespace headrace::dataworker
