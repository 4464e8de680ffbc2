#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "base/process/allowance.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::client {

struct Slot {
  SlotId id;
  std::uint64_t offset = 0;  // in the arena, bytes
  std::uint64_t bytes = 0;
};

// The trainer's memory for batches: one unlinked memfd that workers on the same host map too. Its
// address space is reserved at once, so that no slot ever moves. Its memory is reserved slot by
// slot. So "no memory" is an error when a slot is made, and never a SIGBUS while a worker writes.
//
//   free -Acquire-> lent -MarkReady-> ready -Hold-> held -last copy gone-> free
//                    |  \-Return-> free                 \-KeepForHeirs, last copy gone-> inherited
//                    \-Quarantine-> quarantined -MarkReady-> ready, -Return-> free
//                                                         inherited -heirs gone-> free
//
// A slot is lent while some process may write to it. It is quarantined when that process is
// suspected dead: only its hang-up or its late answer makes the slot usable again. It is inherited
// after this process has dropped it, while a process that forked meanwhile may still read it. An id
// means the same slot until that slot is free. The ids of slots that gave their memory back are
// used again. So there are never more ids than slots were in use at once.
// Thread-safe. The session and every live batch share it. In a forked child the slots stay as they
// were at the fork: nothing there returns them.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  enum class State : std::uint8_t {
    kFree,
    kLent,
    kReady,
    kHeld,
    kQuarantined,
    kInherited,
    kRetired  // has no memory; its id waits for another slot
  };
  struct Counts {
    std::int64_t free = 0, lent = 0, ready = 0, held = 0, quarantined = 0, inherited = 0;
    std::uint64_t bytes = 0;  // reserved
  };

  // kResourceExhausted: not even address space for 1 MiB.
  static Result<std::shared_ptr<Arena>> Make(
      std::uint64_t max_bytes,
      std::function<std::uint64_t()> available = [] { return AvailableMemory(); });
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns a free slot of at least `bytes`, and makes one if there is none. kResourceExhausted:
  // beyond the arena's bound, or the machine has no such memory now; the message names the remedy.
  // `beyond_bound`: may go beyond the bound. The batch that is next in order needs it when later batches, which
  // cannot be delivered before it, have all the memory. What is free beyond the bound is for such batches alone.
  Result<Slot> Acquire(std::uint64_t bytes, bool beyond_bound = false);
  [[nodiscard]] MutableByteSpan Memory(const Slot& slot);
  void Quarantine(SlotId slot);
  void MarkReady(SlotId slot);
  void Return(SlotId slot);
  // Returns an object that keeps the slot held; it may die on any thread.
  [[nodiscard]] std::shared_ptr<void> Hold(SlotId slot);
  // Keeps what is held now until every process that has the returned descriptor open is gone. The
  // caller calls it just before fork() and closes the descriptor in the parent after fork(). The
  // child, and what it forks, has it while it lives (execve closes it). Invalid: nothing is held,
  // or no descriptor is left; what is held is then kept until the arena ends.
  [[nodiscard]] UniqueFd KeepForHeirs();
  // Sets the callback for each time a held slot gets free; it runs on any thread. A replaced
  // callback may run once more, so it must own what it uses.
  void OnFree(std::function<void()> callback);

  // How often a slot has got free. It counts before it calls OnFree's callback.
  [[nodiscard]] std::uint64_t frees() const { return frees_.load(); }
  // Costs nothing: kept up to date, not counted.
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] int fd() const { return fd_.get(); }
  // Size of the memfd; sealed against shrinking.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  // The processes that forked at one moment: the read end of a pipe whose other end they have.
  struct Heirs {
    UniqueFd fd;
    [[nodiscard]] bool gone() const;
  };
  struct Entry {
    Slot slot;
    State state = State::kRetired;
    std::vector<std::shared_ptr<const Heirs>> heirs;  // held or inherited
  };
  Arena() = default;
  Result<Slot> MakeSlot(std::uint64_t bytes, bool beyond_bound);
  [[nodiscard]] std::uint64_t BytesInUse() const;
  void RetireSmallest();
  void FreeInherited();
  [[nodiscard]] Entry& At(SlotId slot) { return slots_[static_cast<std::size_t>(slot.value)]; }
  [[nodiscard]] std::int64_t& CountOf(State state);
  void Move(Entry& entry, State state);
  void AddRange(std::uint64_t offset, std::uint64_t bytes);
  void SetState(SlotId slot, State state);
  void Free(SlotId slot);

  UniqueFd fd_;
  std::byte* base_ = nullptr;
  std::uint64_t size_ = 0;   // of the memfd: twice the bound, for Acquire beyond it
  std::uint64_t bound_ = 0;  // most bytes reserved
  std::int64_t pid_ = 0;
  std::function<std::uint64_t()> available_;

  mutable std::mutex mutex_;
  std::vector<Entry> slots_;     // by id
  std::vector<SlotId> retired_;  // ids to give out again
  std::vector<SlotId> inherited_;
  std::multimap<std::uint64_t, SlotId> free_;      // by size
  std::map<std::uint64_t, std::uint64_t> ranges_;  // unreserved address space: offset -> bytes
  Counts counts_;
  std::int64_t retired_count_ = 0;
  std::shared_ptr<const std::function<void()>> on_free_;
  std::atomic<std::uint64_t> frees_{0};
};

}  // namespace headrace::client
