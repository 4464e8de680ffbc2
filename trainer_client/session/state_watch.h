#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/batch_mailbox.h"
#include "trainer_client/session/batch_queue.h"
#include "trainer_client/session/lane_history.h"
#include "trainer_client/session/lane_states.h"
#include "trainer_client/session/worker_set.h"

namespace headrace::client {

// Takes code that was seen to keep state back to this host. The lanes then make again what other
// hosts made for them (docs/adr/0029-state-seen.md). A batch that the trainer has taken is made
// again for the lanes' state alone, compared with the taken one, and dropped. The trainer is told
// twice: when the state was seen, and when all is judged.
//
// Lanes also begin again when the trainer doubts what they were given (docs/adr/0106-made-again.md).
// Then nothing is compared, and nothing told. Reactor thread.
class StateWatch {
 public:
  // All outlive this.
  struct Parts {
    LinkContext& context;
    WorkerSet& workers;
    BatchBook& book;
    LaneStates& lanes;
    BatchQueue& queue;
    BatchMailbox& mailbox;
  };

  // `compares`: the code may run elsewhere; otherwise there is nothing to take back.
  StateWatch(bool compares, const Parts& parts)
      : compares_(compares),
        judges_(compares && HasPythonLanes(parts.context.plan)),
        records_(judges_),
        parts_(parts),
        history_(judges_ ? kHistoryBytes : kDoubtedBytes) {}

  // Called before new lanes' first batch. `doubted`: they may have to MakeAgain.
  void Begin(bool doubted = false);
  void End() {
    replaying_.clear();
    judging_ = false;
  }
  // Notes that a batch can be made for the first time.
  void Planned(std::int64_t ticket);
  void Asked(WorkerId worker, std::int64_t ticket);
  // Called before the batch is done. `memory`: what was made.
  void Made(WorkerId worker, std::int64_t ticket, const wire::BatchDone& done, ByteSpan memory);
  // Notes that no worker makes the batch.
  void Failed(std::int64_t ticket);
  // True: the batch was made for the lane's state alone. Asked once.
  [[nodiscard]] bool Replayed(std::int64_t ticket);
  // Notes what the worker's process saw of its code; empty: nothing.
  void OnStateChange(WorkerId worker, const std::string& what);
  // Has these lanes begin again and make all their batches again. Returns how many had been made that
  // the trainer has not taken. kUnsupported: it is not known what they were asked for.
  Result<std::int64_t> MakeAgain(std::span<const std::int32_t> lanes);
  // Stops all workers elsewhere from running the code, also those that come later.
  void LeaveElsewhere();
  // True: the code was seen to keep state.
  [[nodiscard]] bool stays() const { return stays_; }
  // Whether workers may still show what they make.
  [[nodiscard]] bool shadows() const { return compares_ && !stays_; }
  // The number of taken batches that are still to be judged.
  [[nodiscard]] std::int64_t Undecided() const {
    return judging_ ? static_cast<std::int64_t>(replaying_.size()) : 0;
  }

 private:
  void Differs(std::int64_t ticket);
  void TellVerdict();
  // Has the lanes begin again; returns how many batches had been made that the trainer has not taken.
  std::int64_t Replay(std::span<const std::int32_t> lanes);

  static constexpr std::uint64_t kHistoryBytes = std::uint64_t{256} << 20;
  // Of code that stays on this host. Lanes of persistent workers may have made more before.
  static constexpr std::uint64_t kDoubtedBytes = std::uint64_t{64} << 20;

  const bool compares_;
  const bool judges_;     // lanes have an order, which says what they would have made
  bool records_;          // it is remembered what they were asked for
  bool judging_ = false;  // a verdict is to be told
  Parts parts_;
  LaneHistory history_;
  bool stays_ = false;
  StateChange change_;                // what is known so far
  std::set<std::int64_t> replaying_;  // tickets that are made for their lanes' state alone
};

}  // namespace headrace::client
