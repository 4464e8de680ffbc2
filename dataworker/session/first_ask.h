#pragma once

#include <bit>
#include <cstdint>
#include <mutex>

namespace headrace::dataworker {

// Of a far source, a question for a row's identity takes as long as its bytes do. Where the cache has the
// row the question saves the bytes; where it has not, the bytes alone would have told the identity too.
// This tells which of the two is asked first for rows that a session has never asked for, by what the
// cache had of the last 32 of them. It begins with identities, since other jobs, earlier workers and
// peers may have filled the cache: so no more than the rows on their way are asked twice, and no bytes
// are read in vain but those that are on their way when that changes. Thread-safe.
class FirstAsk {
 public:
  static constexpr int kLeast = 16;    // rows before bytes come first
  static constexpr int kMostHits = 1;  // of the last 32

  [[nodiscard]] bool BytesFirst() const {
    const std::lock_guard lock(mutex_);
    return seen_ >= kLeast && std::popcount(hits_) <= kMostHits;
  }
  // Whether the cache had one.
  void Note(bool hit) {
    const std::lock_guard lock(mutex_);
    hits_ = (hits_ << 1U) | (hit ? 1U : 0U);
    if (seen_ < kLeast) ++seen_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint32_t hits_ = 0;  // the last one's in bit 0; guarded by mutex_
  int seen_ = 0;            // guarded by mutex_
};

}  // namespace headrace::dataworker
