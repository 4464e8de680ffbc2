#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"

namespace headrace::dataworker {

// The account of what a worker's work takes of its memory: batches on their way over the network, the
// pixels of large pictures while they are made, and what jobs sent (code, tables, arrays). What is left
// is the cache's; it gives way to work. The small and steady rest is not counted: see Budget.
// Thread-safe; leases may outlive the worker.
class WorkerMemory : public std::enable_shared_from_this<WorkerMemory> {
 public:
  // Pictures whose making takes less are not counted one by one. Each thread has room for one.
  static constexpr std::uint64_t kSmallPicture = std::uint64_t{8} << 20;

  // What of `memory_bytes`, all that the process may use, is for its work: less what it has already
  // and what its threads take for small pictures. At least a quarter of it.
  [[nodiscard]] static std::uint64_t Budget(std::uint64_t memory_bytes, std::uint64_t own_bytes,
                                            int threads);

  // `bytes`: for work and cache together.
  static std::shared_ptr<WorkerMemory> Make(std::uint64_t bytes);

  // A part of the memory, until it goes. Movable.
  class Lease {
   public:
    Lease() = default;  // of nothing
    Lease(Lease&& other) noexcept
        : of_(std::move(other.of_)),
          bytes_(std::exchange(other.bytes_, 0)),
          stays_(std::exchange(other.stays_, false)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(bytes_, other.bytes_);
      std::swap(stays_, other.stays_);
      return *this;
    }
    ~Lease() {
      if (of_) of_->Free(bytes_, stays_);
    }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

   private:
    friend class WorkerMemory;
    Lease(std::shared_ptr<WorkerMemory> of, std::uint64_t bytes, bool stays)
        : of_(std::move(of)), bytes_(bytes), stays_(stays) {}
    std::shared_ptr<WorkerMemory> of_;
    std::uint64_t bytes_ = 0;
    bool stays_ = false;
  };
  // kResourceExhausted: so much is not there now. kUnsupported: it never is. The message names `what`,
  // both numbers and the option.
  [[nodiscard]] Result<Lease> Take(std::uint64_t bytes, const std::string& what);
  // The same, for what stays as long as a job does: nobody waits for its end.
  [[nodiscard]] Result<Lease> TakeForLong(std::uint64_t bytes, const std::string& what);

  struct Waiting {
    Duration patience{};
    std::function<void()> reclaim;   // frees what is kept for later use; nullptr: there is none
    std::function<bool()> gives_up;  // nobody wants it any more; nullptr: never
  };
  // The same, but blocks while it does not fit, until others have freed so much. Those that wait get
  // theirs in the order in which they came, so that a large one has its turn; a smaller one may go
  // before it only at the end of its patience. Fails at once where waiting cannot help: it does not
  // fit beside what stays. For compute threads. REQUIRES: the caller has no lease.
  [[nodiscard]] Result<Lease> TakeInTurn(std::uint64_t bytes, const std::string& what,
                                         const Waiting& waiting);

  // Has the cache keep to so many bytes; returns those that it has after that. Called on any thread,
  // without a lock. nullptr: there is no cache any more.
  using KeepTo = std::function<std::uint64_t(std::uint64_t most)>;
  void SetCache(KeepTo keep_to);
  // Has the cache give way to other programs of the host, of which `available` bytes can be had now, until
  // `reserve` bytes can: see MostForCache. It holds until the next call. Work is admitted as before.
  void LeaveToHost(std::uint64_t available, std::uint64_t reserve);

  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t used() const { return used_.load(); }

 private:
  explicit WorkerMemory(std::uint64_t bytes) : limit_(bytes) {}
  [[nodiscard]] std::uint64_t Left() const;
  void Free(std::uint64_t bytes, bool stays);
  // True: the cache has no more than is left.
  bool CacheFits();

  const std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> stay_{0};  // of them
  std::atomic<std::uint64_t> most_of_cache_{UINT64_MAX};
  std::mutex mutex_;
  KeepTo keep_to_;  // guarded by mutex_

  std::mutex turn_mutex_;
  std::condition_variable turn_changed_;
  // Guarded by turn_mutex_:
  std::set<std::uint64_t> turns_;  // of those that wait
  std::uint64_t next_turn_ = 0;
  std::uint64_t frees_ = 0;
};

}  // namespace headrace::dataworker
