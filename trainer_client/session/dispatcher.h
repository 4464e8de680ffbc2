#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/graph.h"
#include "base/ids.h"

namespace headrace::client {

// What making a batch twice does.
enum class Making : std::uint8_t {
  kFreely,   // no harm: the plan is native, or its code keeps no state
  kOnce,     // the program's code runs again
  kInOrder,  // that, and the code may keep state: it sees the batches of a lane in their order
};

// Decides which worker makes which batch. Any worker may make any batch, and a batch made twice
// does no harm. So a lost or late batch is asked for again, and the first answer counts.
//
//   Add -> queued -Poll-> in flight -first answer-> done
//             ^--------------| lost, refused, slot too small
//
// A batch's name is its ticket, which is unique in the session. A smaller ticket is earlier. The
// dispatcher chooses the worker with the fewest outstanding bytes, so slow workers get less. Among
// equals it chooses the one that most of the batch's keys prefer. A key prefers the worker with the
// highest hash(key, worker). So while a set of workers stands, each tends to see, and to cache, the
// same part of the data set. A batch that was lost with a worker is asked of one that has no other
// such batch: so the next loss says which of them it is. Pure: returns what to send; the caller owns slots and sockets. Reactor
// thread.
// Methods: one for each event of the table, and the questions that tests and reports ask.
class Dispatcher {
 public:
  struct Options {
    bool hedge = true;
    // Batches of one lane go out one after the other: generator states travel with the lane, or its
    // code keeps state.
    bool lanes_in_order = false;
    // A lane's batches go to the worker that made its last one, while it is ready.
    bool lanes_stay = false;
    // A second worker is asked for the batch that is next in order when it is later than both of
    // these.
    Duration hedge_floor = std::chrono::milliseconds(50);
    std::int64_t hedge_medians = 4;
    // A request without an answer for this long was lost with its connection.
    Duration resend_floor = std::chrono::seconds(30);
    std::int64_t resend_medians = 16;
    // False: only the worker that has the batch is asked again; it makes the batch once however
    // often it is asked. Another one is asked after that worker is lost.
    bool resend_elsewhere = true;
    // Refusals after which a batch counts as failed.
    std::int32_t most_refusals = 4;
    // Workers that were lost with the batch, after which no other one is given it: perhaps one of its
    // samples ends whoever makes it. One that has it already may answer in time. 0: no bound.
    std::int32_t most_losses = 0;
    // A worker that has not made a batch for longer than both is too late with it, and another one is
    // asked. After most_losses of them the batch is done here. The first time is for each 64 samples
    // begun, and five times as long before anything was measured. 0: it is waited for.
    Duration deadline{};
    std::int64_t deadline_medians = 16;

    // The options that suit the plan's batches.
    [[nodiscard]] static Options For(const Plan& plan, Making making, Duration resend_floor,
                                     Duration deadline = {});
  };
  enum class WorkerState : std::uint8_t {
    kReady,
    kDraining,   // gets nothing new, answers what it has
    kOnTrial,    // the same: it must still show what it makes (Trials)
    kSuspected,  // others are asked for what it has; its answers count when they come
    kGone,       // sends nothing and writes nowhere any more
  };
  struct Send {
    std::int64_t ticket = 0;
    WorkerId worker;
    std::uint32_t attempt = 0;  // unique in the session
    std::uint64_t slot_bytes = 0;
    bool hedge = false;
    // The ticket of the lane's batch before it that is out and not done; -1: there is none.
    std::int64_t after = -1;
    [[nodiscard]] bool ahead() const { return after >= 0; }
  };
  enum class Answer : std::uint8_t {
    kMade,
    kTooSmall,   // the slot; `needed_bytes` says how much it takes
    kNoSession,  // the worker has to be attached again
    kLost,       // no answer: the connection to the worker ended
    kRefused,    // for now, or by this worker
    kFailed,     // no worker can make it
    kCancelled,
  };
  enum class Verdict : std::uint8_t {
    kTake,     // the batch's first answer
    kDrop,     // made already, or cancelled: the slot is free
    kRetry,    // queued again: the slot is free
    kGiveUp,   // this batch fails; the slot is free
    kUnknown,  // no such attempt of this worker
  };

  explicit Dispatcher(Options options) : options_(options) {}

  // Sets the worker's state. Returns the attempts that ended with kGone; their slots are free.
  std::vector<std::uint32_t> SetWorker(WorkerId worker, WorkerState state);
  // Notes that the worker makes batches with the trainer's own processes. All such workers have the
  // same ones: what one of them makes late, another one would make later.
  // REQUIRES: SetWorker, and not kGone.
  void SetLanes(WorkerId worker) { workers_.at(worker).lanes = true; }
  [[nodiscard]] std::size_t ready_workers() const { return ready_; }
  // Notes that this process itself stood still until `now`. How late it is with the answers to what
  // was sent before says nothing of the workers.
  void StoodStill(SteadyTime now) { still_until_ = now; }

  // `keys` stay valid until the batch is done or removed.
  void Add(std::int64_t ticket, std::uint64_t bytes, std::span<const std::int64_t> keys,
           std::int32_t lane);
  // Requests from now on ask for a slot of at least so many bytes. Does nothing where the batch is done.
  void Enlarge(std::int64_t ticket, std::uint64_t bytes);
  // Forgets a batch. Answers to earlier requests are dropped, also when the ticket is added again.
  // O(attempts).
  void Remove(std::int64_t ticket);
  // Forgets batches that are not done; their tickets are not used again.
  void RemoveBefore(std::int64_t ticket);
  // With lanes_in_order: so many batches of a lane are out at once, in their order and at one worker.
  // For lanes whose requests do not carry what the batch before has left.
  void SetLaneWindow(std::int32_t batches) { lane_window_ = batches; }
  // With lanes_stay: lets each lane go to another worker now.
  void ForgetLanes() { lane_home_.clear(); }
  [[nodiscard]] bool Contains(std::int64_t ticket) const { return batches_.contains(ticket); }

  [[nodiscard]] std::vector<Send> Poll(SteadyTime now);
  // Queues the batch of one of the last Poll's sends again, which could not be done (no slot, full
  // queue). Nothing counts as sent.
  void Unsent(std::uint32_t attempt);
  Verdict OnAnswer(WorkerId worker, std::uint32_t attempt, Answer answer,
                   std::uint64_t needed_bytes, SteadyTime now);
  // The batches that reached most_losses since the last call: they are done here. With those of
  // TakeLost that many workers were lost; the others took too long.
  [[nodiscard]] std::vector<std::int64_t> TakeLost() { return std::exchange(lost_, {}); }
  [[nodiscard]] std::vector<std::int64_t> TakeOverdue() { return std::exchange(overdue_, {}); }
  // When Poll may have something to send without an event; nullopt: never.
  [[nodiscard]] std::optional<SteadyTime> NextDeadline() const;

  // What a worker was worth: batches that it made first, and those that another one made before it,
  // because it was late.
  struct Pace {
    std::uint64_t made = 0, late = 0;
  };
  // By worker, since the last call.
  [[nodiscard]] std::map<WorkerId, Pace> TakePaces() { return std::exchange(paces_, {}); }

  [[nodiscard]] std::uint64_t outstanding_bytes() const { return outstanding_bytes_; }
  [[nodiscard]] bool Outstanding(WorkerId worker) const;
  [[nodiscard]] std::uint64_t hedged() const { return hedged_; }
  [[nodiscard]] std::uint64_t rerequested() const { return rerequested_; }

 private:
  struct Worker {
    WorkerState state = WorkerState::kReady;
    std::uint64_t bytes = 0;
    std::int64_t attempts = 0;
    bool lanes = false;
  };
  struct Batch {
    std::uint64_t bytes = 0;
    std::span<const std::int64_t> keys;
    std::int32_t lane = 0;
    std::int32_t live = 0;  // attempts that may still answer
    std::int32_t refusals = 0;
    std::int32_t sends = 0;
    std::set<WorkerId> lost_with;
    std::int32_t overdue = 0;  // attempts
    SteadyTime last_sent;
    WorkerId last_worker;
  };
  struct Attempt {
    std::int64_t ticket;
    WorkerId worker;
    SteadyTime sent;
    std::uint64_t bytes;
    bool live;
    bool hedge;
    bool overdue;
    // The batch's values before this attempt, for Unsent.
    SteadyTime last_sent;
    WorkerId last_worker;
  };

  [[nodiscard]] WorkerId Choose(const Batch& batch, WorkerId avoid, bool beside = false) const;
  [[nodiscard]] bool MayHave(const Batch& batch, WorkerId id, const Worker& worker) const;
  // Whether this worker may be asked for the batch beside the one that has it.
  [[nodiscard]] bool Beside(const Batch& batch, WorkerId id, const Worker& worker) const;
  [[nodiscard]] bool MayHedge(const Batch& head) const;
  // Whether the worker has another batch than this one with which a worker was lost.
  [[nodiscard]] bool HasLost(WorkerId worker, const Batch& beside) const;
  [[nodiscard]] bool MayAskAgain(const Batch& batch) const;
  // Gives the batch to no worker any more.
  void Leave(std::int64_t ticket);
  [[nodiscard]] WorkerId ChooseAgain(const Batch& batch) const;
  [[nodiscard]] WorkerId Home(const Batch& batch) const;
  Send Start(std::int64_t ticket, Batch& batch, WorkerId worker, SteadyTime now, bool hedge);
  void EndLive(Attempt& attempt);
  void Requeue(std::int64_t ticket);
  void CountLoss(const Attempt& attempt);
  // No longer waits for the attempts that are over the deadline. Their answers count when they come.
  void LoseOverdue(SteadyTime now);
  // Whether no further worker may be given the batch.
  [[nodiscard]] bool Spent(const Batch& batch) const;
  void Done(std::int64_t ticket);
  // Of a lane whose batches go out in order: those from the first one on that is not done.
  struct Out {
    std::int64_t ticket = 0;
    bool done = false;
  };
  // Which worker the lane's order lets the batch go to now; invalid: any; nullopt: none.
  [[nodiscard]] std::optional<WorkerId> LaneGoesTo(std::int64_t ticket, const Batch& batch) const;
  // The ready worker that has all of these that are not done; invalid: there is none.
  [[nodiscard]] WorkerId HasThem(
      std::ranges::subrange<std::deque<Out>::const_iterator> before) const;
  // Notes that the lane's batch goes out. Returns Send::after.
  std::int64_t PutOut(std::int64_t ticket, std::int32_t lane);
  void TakeIn(std::int64_t ticket, std::int32_t lane);
  // The first answer has come from that attempt's worker.
  void CountPaces(const Attempt& first);
  void Measure(const Attempt& attempt, SteadyTime now);
  [[nodiscard]] Duration HedgeAfter() const;
  [[nodiscard]] Duration ResendAfter() const;
  // nullopt: never.
  [[nodiscard]] std::optional<Duration> OverdueAfter(const Batch& batch) const;

  Options options_;
  std::map<WorkerId, Worker> workers_;
  std::size_t ready_ = 0;
  std::map<std::int64_t, Batch> batches_;  // not done, by ticket
  std::set<std::int64_t> queue_;
  std::unordered_map<std::uint32_t, Attempt> attempts_;
  std::int32_t lane_window_ = 1;
  std::unordered_map<std::int32_t, std::deque<Out>> lane_out_;  // lanes_in_order only
  std::unordered_map<std::int32_t, WorkerId> lane_home_;        // lanes_stay only
  std::vector<std::int64_t> lost_, overdue_;
  std::map<WorkerId, Pace> paces_;
  std::uint32_t next_attempt_ = 0;
  std::uint64_t outstanding_bytes_ = 0;
  std::uint64_t hedged_ = 0, rerequested_ = 0;
  std::vector<Duration> latencies_;  // of the last first answers, as a ring
  std::size_t latency_at_ = 0;
  Duration median_{};
  SteadyTime still_until_ = SteadyTime::min();
};

}  // namespace headrace::client
