#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "net/descriptor_channel.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"
#include "trainer_client/session/arena.h"
#include "trainer_client/session/blob_store.h"
#include "trainer_client/session/dispatcher.h"
#include "trainer_client/session/lane_processes.h"

namespace headrace::client {

// What all links of a session have in common.
struct LinkContext {
  SessionId session;
  JobId job;  // changes when the coordinator restarts
  wire::HostIdentity host;
  Plan plan;
  std::vector<std::uint64_t> files;  // as wire::OpenSession
  std::vector<std::size_t> ranks;    // dimensions of a sample, by field; as CheckAnswer takes them
  wire::Split split;
  std::uint64_t cache_bytes = 0;
  bool allow_arena = true;
  // Python plans: workers that share the arena get the lanes' processes from here, and no code.
  bool gives_lanes = false;
  LaneProcesses lanes;
  std::shared_ptr<Arena> arena;
  // Never null.
  std::unique_ptr<BlobStore> blobs = std::make_unique<BlobStore>(std::map<BlobHash, Blob>());

  // Whether workers elsewhere may run the plan's code, after they have shown that their batches are
  // the same (docs/adr/0028-elsewhere.md).
  [[nodiscard]] bool compares() const {
    return gives_lanes && plan.has_python_stage && plan.python.bundle.valid();
  }
  [[nodiscard]] Making making() const {
    if (!plan.has_python_stage || (compares() && !plan.python.replayed)) return Making::kFreely;
    return gives_lanes ? Making::kInOrder : Making::kOnce;
  }
};

// Whether two leases mean the same worker process.
[[nodiscard]] bool SameProcess(const wire::WorkerInfo& a, const wire::WorkerInfo& b);

// One session's connection to one worker: data socket, descriptor channel, attachment, signs of
// life.
//
//   attaching -Attached ok-> ready -mute-> suspected -any message-> ready
//       |                      |               |
//       +----------------------+---------------+--hang-up, or refused for good--> gone
//
// A worker that refuses the session but has its arena is suspected until it hangs up: it may write.
// Without a descriptor channel (another host) a dead worker is noticed by the end of its connection,
// or by its silence.
// Reactor thread.
// Methods: one for each message of a worker, and each change of the state above.
class WorkerLink {
 public:
  enum class State : std::uint8_t { kAttaching, kReady, kSuspected, kGone };
  struct Events {
    // Called after each change; the link may not be destroyed inside.
    std::function<void(WorkerId, State)> on_state;
    std::function<void(WorkerId, net::Incoming&&)> on_message;  // BatchDone, Described
    std::function<void()> on_loaded;  // the worker said that the plan runs there
    // The link's connection ended, and the worker has no arena: it answers no earlier request. The
    // link stays, and connects again. A batch that must not be made twice may still be in work there:
    // then the worker's silence decides.
    std::function<void(WorkerId)> on_lost;
  };

  // Opens a link. kUnavailable: no endpoint of the worker can be reached from here.
  static Result<std::unique_ptr<WorkerLink>> Open(net::Reactor& reactor, LinkContext& context,
                                                  wire::WorkerInfo worker, Events events);
  ~WorkerLink();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const wire::WorkerInfo& worker() const { return worker_; }
  // Attaches with this pass from now on: a restarted coordinator knows the job by another number.
  void SetPass(std::string pass) { worker_.pass = std::move(pass); }
  // True: the worker writes into the arena; its slots may be reused only after its answer or
  // hang-up.
  [[nodiscard]] bool uses_arena() const { return uses_arena_; }
  // True: the worker makes batches with the trainer's own lane processes.
  [[nodiscard]] bool given_lanes() const { return offered_arena_ && context_.gives_lanes; }
  // Passes the current context.lanes to the worker. Does nothing for a worker elsewhere.
  void GiveLanes();
  // Whether the worker was silent for so long that the coordinator should check it, or its connection
  // ended and it has said nothing since.
  [[nodiscard]] bool mute() const;
  // Whether a live worker is not attached for a while because it prepares what it was asked for.
  // The imports of Python code may take long.
  [[nodiscard]] bool loading() const;
  // Why the worker refused the session for good; ok otherwise.
  [[nodiscard]] const Status& refusal() const { return refusal_; }
  // Why the worker has no room for the session yet, while it is asked again; ok otherwise.
  [[nodiscard]] const Status& no_room() const { return no_room_; }

  Status Send(const wire::Body& body) { return socket_->Send({}, body); }
  // Attaches again, because the worker does not know the session (it was restarted, or dropped it).
  void Reattach();
  // Takes no batch from the worker any more, and tells it so. `why` is then refusal().
  void Withdraw(Status why);
  // Called once in kTick: pings, asks again, notices silence.
  static constexpr Duration kTick = std::chrono::milliseconds(500);
  void Tick();

 private:
  WorkerLink(net::Reactor& reactor, LinkContext& context, wire::WorkerInfo worker, Events events)
      : reactor_(reactor),
        context_(context),
        worker_(std::move(worker)),
        events_(std::move(events)) {}
  Status Connect();
  void ConnectArena();
  void SendAttach();
  void OnDisconnected();
  void OnMessage(net::Incoming&& incoming);
  void OnAttached(const wire::Attached& attached);
  void OnOutcome(const Status& status);
  void SendBlobs();
  Status SendBlob(BlobHash hash, const Blob& blob);
  void SetState(State state);
  void Refused(Status why);
  void Leave();
  void AttachLater(Duration delay);
  void OnAlive();
  void Ping();

  struct Sending {
    BlobHash hash;
    std::uint64_t offset = 0;
  };

  net::Reactor& reactor_;
  LinkContext& context_;
  wire::WorkerInfo worker_;
  bool lost_ = false;  // its connection ended, and it has said nothing since
  Events events_;
  State state_ = State::kAttaching;
  Status refusal_, no_room_;
  int full_ = 0;     // how often in a row it had no room
  Status unshared_;  // why it can serve nothing here; ok: it has what the plan needs
  std::unique_ptr<net::Socket> socket_;
  std::unique_ptr<net::DescriptorConnection> channel_;
  bool closing_ = false;  // refused; only the hang-up is waited for
  bool offered_arena_ = false;
  bool uses_arena_ = false;
  int arena_refusals_ = 0;
  std::uint64_t request_ = 0;
  std::uint64_t pings_ = 0;
  SteadyTime attach_sent_{}, heard_{}, pinged_{};
  std::optional<SteadyTime> asked_;  // the first attach that was not answered yet
  std::deque<Sending> blobs_;
  net::TimerId blob_timer_ = 0, attach_timer_ = 0;  // 0: none
};

}  // namespace headrace::client
