#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "dataworker/cache/cache_entry.h"

namespace headrace::dataworker {

// The entries that somebody makes now, and who waits for them: so several jobs that want one entry at the
// same time make it once. A wait is bounded: it ends with the claim, or after kPatience ticks. Claims that
// are older than that are not waited for, so one that is stuck costs each asker nothing more.
// Thread-safe. Shared, because claims may outlive the store.
class OpenClaims : public std::enable_shared_from_this<OpenClaims> {
 public:
  static constexpr std::uint64_t kPatience = 2;  // ticks

  // Keeps a claim open; its destructor ends it, and calls those that wait for it on that thread.
  using Token = std::shared_ptr<const void>;
  // Null: somebody has a claim on the entry.
  Token Begin(const EntryId& id);

  enum class Wait : std::uint8_t {
    kWaits,   // on_end will be called
    kEnded,   // nobody makes the entry: look again
    kTooOld,  // nobody should wait for it any more
  };
  // Takes whether the claim has ended. False: it was waited for long enough.
  using OnEnd = std::function<void(bool ended)>;
  // With kWaits, calls `on_end` exactly once, on any thread, without a lock.
  Wait Await(const EntryId& id, OnEnd on_end);

  // Time goes on. The owner calls it at equal intervals; they are the unit of kPatience.
  void Tick();
  // Ends all waits before it returns; later ones are kTooOld.
  void Close();

 private:
  struct Waiter {
    std::uint64_t since = 0;
    OnEnd on_end;
  };
  struct Open {
    std::uint64_t since = 0;
    std::vector<Waiter> waiters;
  };
  void End(const EntryId& id);

  std::mutex mutex_;
  // Guarded by mutex_:
  bool closed_ = false;
  std::uint64_t now_ = 0;
  std::unordered_map<EntryId, Open, HashEntryId> open_;
};

}  // namespace headrace::dataworker
