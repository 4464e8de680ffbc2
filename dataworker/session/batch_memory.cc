#include "dataworker/session/batch_memory.h"

#include <utility>

namespace headrace::dataworker {

void BatchMemory::SetArena(std::uint64_t connection, std::shared_ptr<ArenaMap> arena) {
  connection_ = connection;
  arena_ = std::move(arena);
}

bool BatchMemory::HasArenaOf(std::uint64_t connection) const {
  return arena_ != nullptr && connection_ == connection;
}

Result<BatchMemory::Place> BatchMemory::Take(const wire::BatchRequest& request,
                                             std::uint64_t bytes) {
  if (!leaves()) {
    HR_TRY(const MutableByteSpan slot, arena_->Slot(request.slot_offset, request.slot_bytes));
    return Place{.memory = slot.first(bytes), .hold = arena_};
  }
  HR_TRY(PayloadPool::Buffer buffer, payloads_.Take(job_, bytes));
  return Place{.memory = buffer.memory, .hold = std::move(buffer.hold), .leaves = true};
}

}  // namespace headrace::dataworker
