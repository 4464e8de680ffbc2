#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "dataworker/cache/chunk.h"

namespace headrace::dataworker {

// Bytes of a store that are borrowed, until the last copy of this goes. Thread-safe.
class RoomLoan {
 public:
  RoomLoan(std::shared_ptr<std::atomic<std::uint64_t>> lent, std::uint64_t bytes)
      : lent_(std::move(lent)), bytes_(bytes) {
    *lent_ += bytes_;
  }
  RoomLoan(RoomLoan&& other) noexcept
      : lent_(std::move(other.lent_)), bytes_(std::exchange(other.bytes_, 0)) {}
  RoomLoan& operator=(RoomLoan&&) = delete;
  ~RoomLoan() {
    if (bytes_ > 0) *lent_ -= bytes_;
  }

 private:
  std::shared_ptr<std::atomic<std::uint64_t>> lent_;
  std::uint64_t bytes_;
};

// The room of a store that no entry of its own takes now. Somebody may borrow it, and must give it back when
// an entry wants it. The store's own books know nothing of loans: they count what is lent as free. So a
// loan never decides what the store keeps and what it gives up. Guarded by the store's lock, but for
// `lent`.
class SpareRoom {
 public:
  // Has the borrower keep to so many bytes. It may keep more for a moment, where somebody reads them.
  using KeepTo = std::function<void(std::uint64_t most)>;

  explicit SpareRoom(std::shared_ptr<const MemoryBudget> budget) : budget_(std::move(budget)) {}

  void SetBorrower(KeepTo keep_to) { keep_to_ = std::move(keep_to); }
  // Nothing: there is not so much.
  [[nodiscard]] std::optional<RoomLoan> Lend(std::uint64_t bytes) {
    if (budget_->free() < lent() + bytes) return std::nullopt;
    return RoomLoan(lent_, bytes);
  }
  // Has loans given back until an entry of the store can take that much. False: they are still read, so there
  // is no room for a moment. REQUIRES: the budget has as much free.
  bool Reclaim(std::uint64_t bytes) {
    if (lent() == 0) return true;
    const std::uint64_t free = budget_->free();
    const std::uint64_t most = free > bytes ? free - bytes : 0;
    if (lent() > most && keep_to_) keep_to_(most);
    return lent() <= most;
  }
  [[nodiscard]] std::uint64_t lent() const { return *lent_; }

 private:
  const std::shared_ptr<const MemoryBudget> budget_;
  const std::shared_ptr<std::atomic<std::uint64_t>> lent_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  KeepTo keep_to_;
};

}  // namespace headrace::dataworker
