#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/arena.h"
#include "trainer_client/session/reorder_buffer.h"
#include "trainer_client/stall/stall_meter.h"
#include "trainer_client/stall/wait_attribution.h"

namespace headrace::client {

// A batch that is made and waits for its turn.
struct ReadyBatch {
  Batch batch;
  std::int64_t samples = 0;
  SlotId slot;  // invalid: it takes no memory
  BatchTimeline timeline;
};

// Where a session's reactor side and the trainer's thread meet. Thread-safe.
// Methods: one for each message of either thread to the other; all are short.
class BatchMailbox {
 public:
  explicit BatchMailbox(bool in_order) : buffer_(in_order) {}

  // --- Reactor.
  // Starts with batch `first_batch`. Dropped batches go to `dropped`.
  template <typename Dropped>
  void Restart(std::int64_t first_batch, Dropped dropped) {
    const std::scoped_lock lock(mutex_);
    buffer_.Restart(first_batch, dropped);
    needed_.clear();
    delivered_.clear();
    meter_.Restart();
  }
  // Gives the trainer a batch. False: it has it already; `ready` is dropped, and its slot stays the caller's.
  bool Put(std::int64_t batch, ReadyBatch ready) {
    bool wake = false, put = false;
    {
      const std::scoped_lock lock(mutex_);
      put = buffer_.Put(batch, std::move(ready));
      served_ = true;
      wake = waiting_ && buffer_.HasNext();
    }
    if (wake) changed_.notify_one();
    return put;
  }
  std::optional<ReadyBatch> Withdraw(std::int64_t batch) {
    const std::scoped_lock lock(mutex_);
    return buffer_.Withdraw(batch);
  }
  [[nodiscard]] bool HasNext() const {
    const std::scoped_lock lock(mutex_);
    return buffer_.HasNext();
  }
  // Whether the batch could be taken now, were it there.
  [[nodiscard]] bool Wants(std::int64_t batch) const {
    const std::scoped_lock lock(mutex_);
    return buffer_.Wants(batch);
  }
  // The number of batches that are made and not taken.
  [[nodiscard]] std::size_t ready() const {
    const std::scoped_lock lock(mutex_);
    return buffer_.size();
  }
  void Suspect(Suspicion suspicion) {
    {
      const std::scoped_lock lock(mutex_);
      suspicions_.push_back(std::move(suspicion));
    }
    changed_.notify_one();
  }
  void Tell(StateChange change) {
    {
      const std::scoped_lock lock(mutex_);
      changes_.push_back(std::move(change));
    }
    changed_.notify_one();
  }
  void Need(SampleNeeded needed) {
    {
      const std::scoped_lock lock(mutex_);
      needed_.push_back(std::move(needed));
    }
    changed_.notify_one();
  }
  // Withdraws the samples needed of the trainer for batches for which `void_now` is true.
  template <typename Predicate>
  void WithdrawNeeded(Predicate void_now) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(needed_, [&](const SampleNeeded& needed) { return void_now(needed.batch); });
  }
  // Takes back a message of missing memory, because a slot got free. Any thread.
  void ClearMemoryTrouble() {
    const std::scoped_lock lock(mutex_);
    if (trouble_.code() == Code::kResourceExhausted) trouble_ = Status::Ok();
  }
  // Says that memory is missing, unless `mended` returns true. It asks `mended` under the lock,
  // when nobody can clear the message. So a trainer that frees a slot and then calls Next gets no
  // old message. Returns whether it is said.
  template <typename Mended>
  bool SetMemoryTrouble(Status trouble, Mended mended) {
    {
      const std::scoped_lock lock(mutex_);
      if (mended()) return false;
      trouble_ = std::move(trouble);
    }
    changed_.notify_one();
    return true;
  }
  // Sets what Next returns, once, when it has nothing; ok takes it back.
  void SetTrouble(Status trouble) {
    {
      const std::scoped_lock lock(mutex_);
      trouble_ = std::move(trouble);
    }
    changed_.notify_one();
  }
  // Notes that a worker has the plan, and that it runs there.
  void SetServed() {
    {
      const std::scoped_lock lock(mutex_);
      served_ = true;
    }
    changed_.notify_one();
  }
  [[nodiscard]] std::vector<std::int64_t> TakeDelivered() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(delivered_, {});
  }
  template <typename Change>
  void ChangeStats(Change change) {
    const std::scoped_lock lock(mutex_);
    change(stats_);
  }

  // --- The trainer.
  struct Taken {
    std::optional<ReadyBatch> batch;
    std::optional<SampleNeeded> sample;
    std::optional<Suspicion> suspicion;
    std::optional<StateChange> change;
    bool doubt = false;
  };
  // Has Next tell of each growth of this number from now on, before it gives another batch; null: of none.
  void TellOf(const std::uint64_t* doubts) {
    const std::scoped_lock lock(mutex_);
    doubts_ = doubts;
    doubts_known_ = Doubts();
  }
  Result<Taken> Next(std::chrono::milliseconds timeout, Clock& clock);
  // Waits for a worker that serves the session. Errors as of Next.
  Status AwaitServed(std::chrono::milliseconds timeout, Clock& clock);
  // The same as in Session (client.h).
  void EnterNext(const Clock& clock);
  void LeaveNext(const Clock& clock);
  void EnterSampler(const Clock& clock);
  void LeaveSampler(const Clock& clock);
  void AddIdle(Duration idle);
  void AddComparison(bool equal);
  void Interrupt();
  // Makes Next fail after this call, because the reactor has ended.
  void Close(Status why);

  // --- Any thread. The statistics, with the times of the meter.
  [[nodiscard]] SessionStats Stats(const Clock& clock) const;
  // The same, with waits that never fall from call to call, for the coordinator.
  [[nodiscard]] SessionStats GrowingStats(const Clock& clock);

 private:
  // REQUIRES: the mutex is held.
  [[nodiscard]] SessionStats StatsWith(const WaitByCause& wait) const;
  // Other processes write it. REQUIRES: the mutex is held.
  [[nodiscard]] std::uint64_t Doubts() const {
    return doubts_ == nullptr ? 0 : __atomic_load_n(doubts_, __ATOMIC_SEQ_CST);
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool waiting_ = false;
  ReorderBuffer<ReadyBatch> buffer_;
  std::deque<SampleNeeded> needed_;
  std::deque<Suspicion> suspicions_;     // of all iterations
  std::deque<StateChange> changes_;      // of all iterations
  std::vector<std::int64_t> delivered_;  // since TakeDelivered
  const std::uint64_t* doubts_ = nullptr;
  std::uint64_t doubts_known_ = 0;
  bool served_ = false;
  Status trouble_;
  Status closed_;
  bool interrupted_ = false;
  StallMeter meter_;
  GrowingWaits growing_;
  SessionStats stats_;
};

}  // namespace headrace::client
