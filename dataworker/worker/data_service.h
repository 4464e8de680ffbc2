#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dataworker/neighbours/neighbour_desk.h"
#include "dataworker/peers/peer_desk.h"
#include "dataworker/session/session.h"
#include "dataworker/share/cache_orders.h"
#include "net/descriptor_channel.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {

// The worker's side of the data plane: which sessions are attached, and which message belongs to
// which session. A trainer attaches with the pass that the coordinator gave its job for this worker
// (base/pass/pass.h); without it nothing of the Attach is looked at. A session belongs to the peer
// that attached it. Requests of any other peer are
// answered as if the session did not exist. Reactor thread. Owned by Worker.
// Methods: one for each kind of message, and one for each thing that the worker's heartbeat says.
class DataService {
 public:
  struct Parts {
    net::Reactor& reactor;
    Executor& executor;
    WorkQueue& queue;
    const SourceRegistry& sources;
    IoExecutor& io;
    remote::ObjectClient& objects;
    std::shared_ptr<SourceReads> reads;
    std::shared_ptr<SampleStore> cache;
    std::shared_ptr<PeerCache> peers;
    wire::HostIdentity host;  // of this process
    Limits limits;
    std::shared_ptr<WorkerMemory> memory;
    std::string token;  // the worker's; passes are made from it. Empty: everybody is admitted.
    std::string coordinator;  // its address
  };
  explicit DataService(const Parts& parts);
  // Closes the sessions as CloseSessions does, then hangs up on the trainers. REQUIRES: no thread
  // runs work of a session.
  ~DataService();

  // Starts to listen. kUnavailable: the address or the path is in use. `base`: what the paths of its sockets begin
  // with.
  Status Listen(const std::string& endpoint, const std::string& base);
  [[nodiscard]] const std::string& endpoint() const { return socket_->endpoint(); }

  // Applies what jobs may use after this call, by the coordinator: see CoordinatorLink::Events.
  // Ends the sessions of dead trainers on other hosts: see Session::Abandoned.
  void OnDirective(const wire::WorkerDirective& directive, std::optional<SteadyTime> asked);
  // Cancels the work of all sessions. Running work may still write into slots.
  void CloseSessions();
  // Refuses new sessions after this call.
  void Drain() { draining_ = true; }
  // True: nothing is queued, running or waiting to be sent.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }
  [[nodiscard]] std::vector<JobId> jobs() const;
  // The subprocesses of all sessions, and the processes that fork them.
  [[nodiscard]] std::vector<std::int64_t> pids() const;
  // What each job has used here. For each heartbeat: it also takes back what silent lanes have.
  [[nodiscard]] std::vector<wire::JobUsage> Usage();
  // The samples that wait for a process of a Python stage.
  [[nodiscard]] std::uint64_t queued_stage_samples() const;
  // The number of the last order to drop that is done.
  [[nodiscard]] std::uint64_t Dropped() { return orders_.Dropped(); }
  [[nodiscard]] std::uint64_t samples_made() const { return environment_.samples_made; }
  // CPU time of the trainers' processes that made batches here, up to the last Usage(), in seconds.
  [[nodiscard]] double lanes_cpu_seconds() const {
    return static_cast<double>(environment_.lanes_cpu_ns) * 1e-9;
  }

 private:
  struct Unsent {
    std::string peer;
    wire::Body body;
    std::vector<net::PayloadFrame> payload;
    SteadyTime since;
  };
  struct EarlyArena {
    std::uint64_t connection = 0;
    std::shared_ptr<ArenaMap> arena;
    std::vector<SessionStage::GivenLane> lanes;
  };

  void OnMessage(net::Incoming&& incoming);
  // `here`: by the kernel's word, the peer is a process of this user on this host.
  void OnAttach(const std::string& peer, const wire::Attach& attach, bool here);
  void OnDescriptor(std::uint64_t connection, const net::DescriptorMessage& message, UniqueFd fd);
  void OnHangup(std::uint64_t connection);
  void OnBatchRequest(const std::string& peer, wire::BatchRequest request);
  void OnDescribe(const std::string& peer, wire::Describe request);
  [[nodiscard]] Session* Find(const std::string& peer, SessionId session);
  void End(SessionId session);
  // Tells it what it may cache ahead; `again`: from the first sample on.
  void Fill(Session& session, bool again) const;
  void EndAbandoned(const std::vector<JobId>& leases, SteadyTime asked);
  [[nodiscard]] std::vector<JobLedger::Attached> Attached() const;

  void Send(const std::string& peer, wire::Body body, std::vector<net::PayloadFrame> payload);
  void SendAgain();

  net::Reactor& reactor_;
  BlobTable blobs_;
  PayloadPool payloads_;
  PictureMemory pictures_;
  StageLosses losses_;
  LeafShelf leaves_;
  Neighbours neighbours_;
  const std::shared_ptr<FilesAhead> ahead_;
  const std::shared_ptr<PicturesAhead> decoded_ahead_;
  StageBases bases_;
  JobLedger ledger_;
  CacheOrders orders_;
  std::vector<wire::FillOrder> fills_;  // that hold
  SessionEnvironment environment_;
  std::string token_;
  const std::string coordinator_;
  PeerDesk desk_;
  std::map<SessionId, std::shared_ptr<Session>> sessions_;
  std::map<SessionId, EarlyArena> early_arenas_;  // by session; its Attach is still on its way
  std::deque<Unsent> unsent_;
  net::TimerId send_timer_ = 0;  // 0: none
  bool draining_ = false;
  std::optional<SteadyTime> complained_;  // when a refused message was last logged
  std::unique_ptr<net::Socket> socket_;
  std::unique_ptr<net::DescriptorListener> descriptors_;
  std::unique_ptr<NeighbourDesk> neighbour_desk_;  // nullptr: there are none
};

}  // namespace headrace::dataworker
