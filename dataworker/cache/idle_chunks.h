#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "dataworker/cache/chunk_store.h"
#include "eviction/core/order.h"

namespace headrace::dataworker {

// The chunks whose last user has ended, and which of them goes first: what the order says from how many
// jobs used them, how long ago, what their entries took to make, and their size. A chunk that a job uses
// again leaves when it is looked at next, so a hit costs nothing here. Guarded by the store's lock.
class IdleChunks {
 public:
  explicit IdleChunks(std::unique_ptr<eviction::EvictionOrder> order) : order_(std::move(order)) {}

  // A job ends: what is added from here on was used at a later time.
  void NextMoment() { ++moment_; }
  // The chunk's last user has ended; it may have been here already. The chunk outlives its stay.
  void Add(Chunk& chunk);
  // The chunk leaves the store. It need not be here.
  void Forget(Chunk& chunk);

  enum class State : std::uint8_t {
    kIdle,
    kBusy,       // it cannot go now
    kUsedAgain,  // it is no longer idle
  };
  // The one that goes first; null: there is none.
  [[nodiscard]] Chunk* First(const std::function<State(const Chunk&)>& state);

 private:
  [[nodiscard]] double SecondsOf(const Chunk& chunk) const;

  const std::unique_ptr<eviction::EvictionOrder> order_;
  std::unordered_map<eviction::ItemId, Chunk*> chunks_;
  std::uint64_t last_id_ = 0;
  double moment_ = 0;
  double known_s_ = 0, known_bytes_ = 0;  // of all entries with a known cost that were ever here
};

}  // namespace headrace::dataworker
