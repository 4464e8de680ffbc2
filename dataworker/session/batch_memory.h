#pragma once

#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "base/result.h"
#include "dataworker/memory/memory_map.h"
#include "dataworker/memory/payload_pool.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Where a session's batches go: into slots of its trainer's arena. Without an arena, or if the
// trainer does not want its arena used, they go into memory that the answer carries. Reactor
// thread.
class BatchMemory {
 public:
  // `payloads` outlives it. What it lends counts as the job's.
  BatchMemory(PayloadPool& payloads, JobId job) : payloads_(payloads), job_(job) {}

  // Replaces the arena; running batches keep the old one. `connection`: the arena ends with it.
  void SetArena(std::uint64_t connection, std::shared_ptr<ArenaMap> arena);
  [[nodiscard]] bool has_arena() const { return arena_ != nullptr; }
  [[nodiscard]] bool HasArenaOf(std::uint64_t connection) const;
  // Sets whether the trainer wants its arena used; at first it does not.
  void UseArena(bool use) { use_ = use; }
  // The arena; nullptr: none is used.
  [[nodiscard]] std::shared_ptr<ArenaMap> used_arena() const { return use_ ? arena_ : nullptr; }

  // Whether answers carry the batches.
  [[nodiscard]] bool leaves() const { return used_arena() == nullptr; }

  struct Place {
    MutableByteSpan memory;
    std::shared_ptr<const void> hold;  // keeps `memory`
    bool leaves = false;               // with the answer; otherwise it is the trainer's
  };
  // Returns memory for a batch of `bytes`. kInvalidArgument: the slot lies outside the arena.
  // kResourceExhausted: too much is on its way to trainers already. REQUIRES: bytes <=
  // request.slot_bytes.
  Result<Place> Take(const wire::BatchRequest& request, std::uint64_t bytes);

  // Releases the arena; running batches keep it.
  void Release() { arena_.reset(); }

 private:
  PayloadPool& payloads_;
  const JobId job_;
  std::shared_ptr<ArenaMap> arena_;
  std::uint64_t connection_ = 0;  // on which the arena came
  bool use_ = false;
};

}  // namespace headrace::dataworker
