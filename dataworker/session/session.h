#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "dataworker/cache/cache.h"
#include "dataworker/memory/memory_map.h"
#include "dataworker/memory/payload_pool.h"
#include "dataworker/session/batch_work.h"
#include "dataworker/session/compiled_plan.h"
#include "dataworker/share/job_ledger.h"
#include "dataworker/share/work_queue.h"
#include "dataworker/stage/stage_runner.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {

// Blobs by content, shared by the sessions that hold them. Reactor thread.
class BlobTable {
 public:
  // nullptr when no session holds it.
  [[nodiscard]] BlobContent Find(BlobHash hash) const;
  void Add(BlobHash hash, const BlobContent& content);

 private:
  std::map<BlobHash, std::weak_ptr<const ByteSpan>> blobs_;
};

// How often the Python process of a session was lost here, whether the session was attached anew
// meanwhile or not. Reactor thread.
class StageLosses {
 public:
  static constexpr int kMost = 3;
  // The answer for the session's batches from now on: kNotFound while attaching again may help,
  // kUnsupported when it has been lost kMost times.
  Status Add(SessionId session, const std::string& how);
  // ok, or the refusal.
  [[nodiscard]] Status Check(SessionId session) const;

 private:
  struct Lost {
    int times = 0;
    std::string how;  // the last one
  };
  std::map<SessionId, Lost> lost_;
};

// What the person who runs the worker lets sessions do.
struct Limits {
  std::uint64_t stage_memory = 0;          // data bytes of each Python process; 0: no limit
  std::vector<std::string> allowed_roots;  // real paths that files are read below; none: anywhere
};

// What sessions share; all of it outlives them.
struct SessionEnvironment {
  net::Reactor& reactor;
  Executor& executor;
  WorkQueue& queue;
  SampleCache& cache;
  BlobTable& blobs;
  PayloadPool& payloads;
  StageLosses& losses;
  StageBases& bases;
  JobLedger& ledger;
  wire::HostIdentity host;  // of this process
  Limits limits;
  std::function<void(const std::string& peer, wire::Body, std::vector<net::PayloadFrame>)> send;
  // Cores for the stage processes of one session of the job: see JobLedger.
  std::function<double(JobId)> stage_cores;
  std::uint64_t samples_made = 0;
};

// One loader of one trainer, on this worker.
//
//   waiting (for blobs) -last blob verified-> compiling -ok-> ready
//                                                 \----error-> failed
//   ready -Python process lost-> failed -attached again-> waiting
//
// Requests that come before the plan is ready wait. Reactor thread; the owner calls Close before it
// lets go. Tasks on other threads refer to it weakly.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionEnvironment& environment, std::string peer, const wire::Attach& attach);

  [[nodiscard]] SessionId id() const { return attach_.session; }
  [[nodiscard]] JobId job() const { return attach_.job; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // Requests without an answer.
  [[nodiscard]] std::size_t outstanding() const {
    return waiting_.size() + active_.size() + (stage_ ? stage_->outstanding() : 0);
  }
  // When it was attached last.
  [[nodiscard]] SteadyTime attached() const { return attached_; }
  [[nodiscard]] std::size_t stage_batches() const { return stage_ ? stage_->outstanding() : 0; }
  [[nodiscard]] std::int64_t stage_samples() const { return stage_ ? stage_->queued_samples() : 0; }
  // Brings the account of its subprocesses up to date.
  void CountStageCpu();
  // Subprocesses of a Python plan.
  [[nodiscard]] std::vector<std::int64_t> pids() const {
    return stage_ ? stage_->pids() : std::vector<std::int64_t>();
  }

  // The trainer gave a sign of life.
  void Heard() { heard_ = environment_.reactor.clock().Now(); }
  // Whether the session is to end, because nobody will: its trainer, on another host, died. That is
  // when the answers to kMostUnleased heartbeats of the worker in a row, sent behind the last
  // Attach, named no lease of its job, and the trainer said nothing for kMostSilence. A trainer
  // that lives pings, so that a coordinator that forgot its job ends nothing. A shared arena ends
  // by its hang-up. Requests that wait for blobs are refused first.
  [[nodiscard]] bool Abandoned(bool leased, SteadyTime asked);
  static constexpr int kMostUnleased = 3;
  static constexpr Duration kMostSilence = std::chrono::seconds(10);
  // First attachment, or again: the connection or the coordinator is new, or blobs or the arena
  // went missing. REQUIRES: SamePlan(attach).
  void Attach(std::string peer, const wire::Attach& attach);
  [[nodiscard]] bool SamePlan(const wire::Attach& attach) const;
  // Replaces the arena; batches that run keep the old one.
  void SetArena(std::uint64_t connection, std::shared_ptr<ArenaMap> arena);
  [[nodiscard]] bool HasArenaOf(std::uint64_t connection) const;
  // A lane's process, at the other end of the socket.
  struct GivenLane {
    StageHosts::Lane lane;
    net::UniqueFd socket;
    std::int64_t pid = 0;
  };
  // For sessions whose trainer gives them.
  void OnLane(GivenLane given);

  void OnBlobPart(const wire::BlobPart& part, const std::vector<ByteSpan>& payload);
  void OnBlobDescriptor(BlobHash hash, const net::UniqueFd& fd, std::uint64_t bytes);
  void OnDescribe(wire::Describe request);
  void OnBatchRequest(wire::BatchRequest request);
  void OnCancel(IterationId before);
  // Cancels everything; nothing is answered, and nothing new is written, after it.
  void Close();

 private:
  enum class State { kWaiting, kCompiling, kReady, kFailed };
  struct Waiting {
    SteadyTime received;
    std::variant<wire::BatchRequest, wire::Describe> request;
  };

  void TakeBlobsOfOthers();
  void BlobComplete(BlobHash hash, BlobContent content);
  void BlobVerified(BlobHash hash, BlobContent content, bool equal);
  void CompileWhenComplete();
  // Of what is attached: what must be here before it can run.
  [[nodiscard]] std::vector<BlobHash> NeededBlobs() const;
  [[nodiscard]] StageBases::Options StageOptions() const;
  void StartStage();
  void StartGiven(StageRunner::Options options, StageRunner::Events events);
  void EndStage();
  void CountSamples(std::uint64_t samples);
  void Compiled(std::shared_ptr<const CompiledPlan> plan, Status status);
  void Fail(Status status);
  void AnswerAttach();
  void TellOutcome();
  void SendAttached();
  void RunWaiting();

  void StartStageBatch(wire::BatchRequest request, SteadyTime received);
  void StartDescribe(wire::Describe request);
  void StartBatch(wire::BatchRequest request, SteadyTime received);
  void Launch(wire::BatchRequest request, SteadyTime received, const ops::ImageSpec& shape);
  void OnBatchDone(const std::shared_ptr<BatchWork>& work);
  [[nodiscard]] wire::BatchDone AnswerTo(const wire::BatchRequest& request) const;
  void Refuse(const wire::BatchRequest& request, Status status, std::uint64_t needed_bytes = 0);
  // Calls `then` on the reactor thread unless the session has ended meanwhile. Any thread.
  template <typename Then>
  [[nodiscard]] auto OnReactor(Then then);

  SessionEnvironment& environment_;
  std::string peer_;
  wire::Attach attach_;
  State state_ = State::kWaiting;
  Status failure_;
  bool attach_unanswered_ = false;
  SteadyTime attached_{}, heard_{}, blob_heard_{};
  int unleased_ = 0;           // answers in a row
  bool outcome_told_ = false;  // the peer knows whether the plan runs here
  bool closed_ = false;
  std::shared_ptr<const CacheLease> cache_;

  std::shared_ptr<ArenaMap> arena_;
  std::uint64_t arena_connection_ = 0;

  std::set<BlobHash> needed_;  // neither here nor being verified
  std::map<BlobHash, BlobBuilder> building_;
  std::map<BlobHash, BlobContent> blobs_;
  std::shared_ptr<const CompiledPlan> plan_;  // native plans
  std::unique_ptr<StageRunner> stage_;        // Python plans
  std::vector<GivenLane> early_lanes_;        // that came before the stage was started
  double stage_cpu_seconds_ = 0;              // of its processes, that are in the account

  // The last attempts that were asked: a message that comes twice is answered once, for its slot
  // may be another batch's after the first answer.
  std::set<std::uint32_t> asked_;

  std::deque<Waiting> waiting_;
  std::set<std::shared_ptr<Work>> active_;
};

template <typename Then>
auto Session::OnReactor(Then then) {
  return [&reactor = environment_.reactor, weak = weak_from_this(), then](auto... arguments) {
    // std::function wants copies; what is posted moves through one shared box.
    auto box = std::make_shared<std::tuple<decltype(arguments)...>>(std::move(arguments)...);
    reactor.Post([weak, then, box] {
      const std::shared_ptr<Session> session = weak.lock();
      if (!session || session->closed_) return;
      std::apply([&](auto&... values) { then(*session, std::move(values)...); }, *box);
    });
  };
}

}  // namespace headrace::dataworker
