#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {

// The reactor side of a client: its job at the coordinator, heartbeats, leases for its sessions.
//
//   opening -JobOpened-> open -Leases kNotFound (the coordinator restarted)-> opening
//
// Without a coordinator the sessions go on with the workers that they have.
// Reactor thread, except the constructor.
class JobLink {
 public:
  struct Setup {
    std::string endpoint;
    std::string job_name;
    std::int32_t workers = 0;
    std::uint64_t cache_bytes = 0;
    std::string tenant;
    std::int32_t priority = 0;
    std::string group;
    std::int32_t rank = -1;
    std::uint64_t link_bytes_per_second = 0;
    std::string rack;
    bool warm = false;
    wire::HostIdentity host;
    std::string token;
  };
  using OnOpen = std::function<void(Status)>;
  using OnSplit = std::function<void(Result<wire::Split>)>;
  using OnCluster = std::function<void(Result<wire::ClusterStatus>)>;

  JobLink(std::shared_ptr<net::Reactor> reactor, Setup setup)
      : reactor_(std::move(reactor)), setup_(std::move(setup)) {}

  // Opens the job; `done` is called once, at the first answer.
  void Start(OnOpen done);
  // Asks the coordinator how to split the plan; `done` is called once.
  // `files`: as wire::OpenSession.
  void OpenSession(SessionId session, Plan plan, std::vector<std::uint64_t> files, OnSplit done);
  // Gives the session the job's leases after this call; with `only_worker`, that worker alone,
  // leased or not.
  void AddSession(std::shared_ptr<SessionPump> session,
                  std::optional<wire::WorkerInfo> only_worker = std::nullopt);
  // Asks the coordinator for all that it knows, with the passes of its workers; `done` is called once.
  void QueryCluster(OnCluster done);
  void CloseSession(SessionId session);
  // Moves the job to another coordinator. Until that coordinator has leased workers, the sessions
  // keep those they have. Then `former` is released.
  void Reconnect(const std::string& endpoint, std::shared_ptr<void> former);
  void Shutdown();

  [[nodiscard]] JobId job() const { return job_; }
  // Why the coordinator did not answer, if that is known.
  [[nodiscard]] const Status& last_error() const { return last_error_; }

 private:
  struct Opening {
    std::uint64_t request;
    Plan plan;
    std::vector<std::uint64_t> files;
    OnSplit done;
  };

  Status Connect();
  void Send(const wire::Body& body);
  void SendOpenJob();
  void SendOpenSession(SessionId session, const Opening& opening);
  void SendHeartbeat();
  void OnMessage(const wire::Body& body);
  void OnJobOpened(const wire::JobOpened& opened);
  void OnSessionOpened(const wire::SessionOpened& opened);
  void OnLeases(const wire::Leases& leases);
  void OnStatus(wire::ClusterStatus status);
  void Beat();

  std::shared_ptr<net::Reactor> reactor_;
  Setup setup_;
  std::unique_ptr<net::Socket> socket_;
  OnOpen on_open_;
  JobId job_;
  ConsumerId consumer_;
  std::uint64_t next_request_ = 0;
  std::uint64_t job_request_ = 0;  // the request that waits for its answer; 0: none
  std::shared_ptr<BadSamples> bad_ = std::make_shared<BadSamples>();
  std::map<SessionId, Opening> opening_;
  std::map<SessionId, std::shared_ptr<SessionPump>> sessions_;
  std::set<SessionId> leased_alone_;            // sessions with an `only_worker`
  std::map<std::uint64_t, OnCluster> queries_;  // by request
  std::uint64_t generation_ = 0;
  std::vector<wire::WorkerInfo> leased_;
  // Until this time a restarted coordinator may not know our workers yet: they stay leased.
  SteadyTime settled_{};
  std::shared_ptr<void> former_;
  Status last_error_;
  std::optional<SteadyTime> said_;  // that the coordinator does not take the job back
  net::TimerId timer_ = 0;
  bool closed_ = false;
};

}  // namespace headrace::client
