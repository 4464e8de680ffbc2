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
// Registration is repeated until it is answered, with the same token, so a repeat is the same
// worker; then a heartbeat goes out each heartbeat_ms whatever else happens. A coordinator that is
// away changes nothing for trainers. Reactor thread.
class CoordinatorLink {
 public:
  struct Events {
    std::function<wire::WorkerHeartbeat()> load;  // request and worker are filled in here
    std::function<void(WorkerId)> on_registered;
    std::function<void()> on_drain;
    // What should hold from now on: leases and grants. `asked`: when the heartbeat went out that it
    // answers; nothing: it came unasked.
    std::function<void(const wire::WorkerDirective&, std::optional<SteadyTime> asked)> on_directive;
    // The coordinator will not have this worker (another release, not allowed).
    std::function<void(const Status&)> on_refused;
  };
  static Result<std::unique_ptr<CoordinatorLink>> Open(net::Reactor& reactor,
                                                       const std::string& endpoint,
                                                       wire::WorkerInfo info, Events events);
  ~CoordinatorLink();

  [[nodiscard]] WorkerId worker() const { return worker_; }
  // Directives that were followed, in all.
  [[nodiscard]] std::uint64_t directives() const { return directives_; }
  // No lease may go here any more. Heartbeats go on while the worker finishes what it was asked.
  void Leave();
  // The worker ends now: its last totals. Call it last.
  void Gone();

 private:
  CoordinatorLink(net::Reactor& reactor, wire::WorkerInfo info, Events events);
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
  std::uint64_t directives_ = 0;
  std::map<std::uint64_t, SteadyTime> asked_;  // when the last heartbeats went out, by request
  WorkerId worker_;
  bool draining_ = false;  // by the coordinator's word
  bool left_ = false;
};

}  // namespace headrace::dataworker
