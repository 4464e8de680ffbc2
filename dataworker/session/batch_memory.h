#pragma once

#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "base/result.h"
#include "dataworker/memory/memory_map.h"
#include "dataworker/memory/payload_pool.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Where a session's batches go: into slots of its trainer's arena. Where there is none, or the
// trainer does not want it used, into memory that the answer takes along. Reactor thread.
class BatchMemory {
 public:
  // `payloads` outlives it.
  explicit BatchMemory(PayloadPool& payloads) : payloads_(payloads) {}

  // Replaces the arena; batches that run keep the old one. `connection`: whose end is the arena's.
  void SetArena(std::uint64_t connection, std::shared_ptr<ArenaMap> arena);
  [[nodiscard]] bool has_arena() const { return arena_ != nullptr; }
  [[nodiscard]] bool HasArenaOf(std::uint64_t connection) const;
  // Whether the trainer wants its arena used; at first it does not.
  void UseArena(bool use) { use_ = use; }
  // nullptr: none is used.
  [[nodiscard]] std::shared_ptr<ArenaMap> used_arena() const { return use_ ? arena_ : nullptr; }

  struct Place {
    MutableByteSpan memory;
    std::shared_ptr<const void> hold;  // keeps `memory`
    bool leaves = false;               // with the answer; otherwise it is the trainer's
  };
  // For a batch of so many bytes. kInvalidArgument: the slot lies outside of the arena.
  // kResourceExhausted: too much is on its way to trainers already.
  // REQUIRES: bytes <= request.slot_bytes.
  Result<Place> Take(const wire::BatchRequest& request, std::uint64_t bytes);

  // Lets go of the arena; batches that run keep it.
  void Release() { arena_.reset(); }

 private:
  PayloadPool& payloads_;
  std::shared_ptr<ArenaMap> arena_;
  std::uint64_t connection_ = 0;  // that the arena came by
  bool use_ = false;
};

}  // namespace headrace::dataworker
