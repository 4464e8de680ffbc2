#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/ids.h"
#include "trainer_client/draws/draw_planner.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/stall/wait_attribution.h"

namespace headrace::client {

// Holds what a session knows of its batches. It knows each one from Submit until the trainer has
// taken it, because a done batch may have to be made again.
//
// A batch's name is its ticket: iteration and batch as one number that grows. The book returns no
// errors: a batch that is not known is absent. Pure. Reactor thread.
class BatchBook {
 public:
  // A batch that is made and that the trainer may not have taken yet.
  struct Kept {
    PlannedBatch planned;
    Bytes index;
    Bytes lane_state;  // before it
    WorkerId worker;
  };

  [[nodiscard]] std::int64_t Ticket(std::int64_t batch) const {
    return iteration_ << kBatchBits | batch;
  }
  [[nodiscard]] static std::int64_t BatchOf(std::int64_t ticket) {
    return ticket & ((std::int64_t{1} << kBatchBits) - 1);
  }
  [[nodiscard]] static std::int64_t IterationOf(std::int64_t ticket) {
    return ticket >> kBatchBits;
  }
  [[nodiscard]] bool Current(std::int64_t ticket) const {
    return IterationOf(ticket) == iteration_;
  }
  [[nodiscard]] std::int64_t iteration() const { return iteration_; }
  // The iteration was ended, and no other has begun: nothing more of it is made.
  [[nodiscard]] bool ended() const { return ended_; }

  // Begins another iteration, of which nothing is known yet. The trainer takes no batch of those
  // before; they stay to be made until they are dropped.
  void Begin();
  void End();
  void DropPending();

  // `index`: wire::BatchRequest::index.
  void Submitted(std::int64_t ticket, SteadyTime now, Bytes index);
  // Notes that the batch can be made. The returned one stays where it is until it is done or
  // dropped. `served`: since when there is a worker.
  const PlannedBatch& Planned(std::int64_t ticket, PlannedBatch planned, SteadyTime served,
                              SteadyTime now);
  // Notes that the batch must be made again, or by another worker. An empty index keeps the known
  // one.
  const PlannedBatch& Again(std::int64_t ticket, PlannedBatch planned, Bytes index);
  // The planned batch; null: it is done, or was dropped.
  [[nodiscard]] const PlannedBatch* Find(std::int64_t ticket) const;
  // The batch's index; empty: it has none.
  [[nodiscard]] const Bytes& index(std::int64_t ticket) const;
  // Planned batches of this iteration that go through the lane, in order.
  [[nodiscard]] std::vector<std::int64_t> InLane(std::int32_t lane) const;
  // All planned batches that are not done, in order.
  [[nodiscard]] std::vector<std::int64_t> Pending() const;
  [[nodiscard]] bool nothing_pending() const { return pending_.empty(); }
  [[nodiscard]] bool nothing_earlier() const {
    return pending_.empty() || Current(pending_.begin()->first);
  }
  // Forgets the batch and returns its plan; nullopt: it was dropped.
  std::optional<PlannedBatch> Done(std::int64_t ticket);
  // Returns the batch's times up to now, and forgets them.
  [[nodiscard]] BatchTimeline TakeTimeline(std::int64_t ticket, SteadyTime now);

  // Keeps a batch that `worker` made from this state of its lane on. Called before Done.
  void Keep(std::int64_t ticket, WorkerId worker, const Bytes& lane_state);
  [[nodiscard]] const std::map<std::int64_t, Kept>& kept() const { return kept_; }
  std::optional<Kept> TakeKept(std::int64_t ticket);
  // Notes that the trainer has taken this batch of the iteration.
  void Taken(std::int64_t batch);
  // What the trainer has taken from each worker; the batches are this iteration's.
  [[nodiscard]] const std::map<WorkerId, Withdrawal>& taken() const { return taken_; }

 private:
  static constexpr int kBatchBits = 40;

  std::int64_t iteration_ = 0;
  bool ended_ = false;
  std::map<std::int64_t, PlannedBatch> pending_;               // by ticket, until done
  std::unordered_map<std::int64_t, Bytes> indices_;            // the same
  std::unordered_map<std::int64_t, BatchTimeline> timelines_;  // by ticket, until delivered
  std::map<std::int64_t, Kept> kept_;                          // by ticket
  std::map<WorkerId, Withdrawal> taken_;                       // by maker
};

}  // namespace headrace::client
