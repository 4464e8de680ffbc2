#include "dataworker/memory/worker_memory.h"

#include <algorithm>

#include "dataworker/memory/host_room.h"

namespace headrace::dataworker {
namespace {

constexpr int kTries = 8;
// Whoever waits looks again so often. Nobody tells it that a batch's memory is kept for the next one,
// that a pin of the cache has gone, or that its own work was cancelled.
constexpr Duration kLookAgain = std::chrono::milliseconds(50);

std::string Mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

std::uint64_t WorkerMemory::Budget(std::uint64_t memory_bytes, std::uint64_t own_bytes,
                                   int threads) {
  const std::uint64_t taken = own_bytes + static_cast<std::uint64_t>(threads) * kSmallPicture;
  return std::max(memory_bytes - std::min(memory_bytes, taken), memory_bytes / 4);
}

std::shared_ptr<WorkerMemory> WorkerMemory::Make(std::uint64_t bytes) {
  return std::shared_ptr<WorkerMemory>(new WorkerMemory(bytes));
}

void WorkerMemory::SetCache(KeepTo keep_to) {
  {
    const std::lock_guard lock(mutex_);
    keep_to_ = std::move(keep_to);
  }
  CacheFits();
}

void WorkerMemory::LeaveToHost(std::uint64_t available, std::uint64_t reserve) {
  KeepTo keep_to;
  {
    const std::lock_guard lock(mutex_);
    keep_to = keep_to_;
  }
  if (!keep_to) return;
  const std::uint64_t has = keep_to(std::min(Left(), most_of_cache_.load()));
  most_of_cache_ = MostForCache(has, available, reserve);
  CacheFits();
}

std::uint64_t WorkerMemory::Left() const { return limit_ - std::min(limit_, used_.load()); }

// Others take and free meanwhile: the cache keeps to the last that was left.
bool WorkerMemory::CacheFits() {
  KeepTo keep_to;
  {
    const std::lock_guard lock(mutex_);
    keep_to = keep_to_;
  }
  if (!keep_to) return true;
  bool fits = false;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t left = Left();
    fits = keep_to(std::min(left, most_of_cache_.load())) <= left;
    if (Left() == left) break;
  }
  return fits;
}

Result<WorkerMemory::Lease> WorkerMemory::Take(std::uint64_t bytes, const std::string& what) {
  if (bytes > limit_) {
    return Unsupported(what + " takes " + Mib(bytes) + ", over the worker's memory: " +
                       Mib(limit_) + " are for its work; --memory gives it more");
  }
  std::uint64_t used = used_.load();
  do {
    if (bytes > limit_ - std::min(limit_, used)) {
      return ResourceExhausted(what + " takes " + Mib(bytes) +
                               ", over the worker's memory: " + Mib(used) + " of " + Mib(limit_) +
                               " are in use; --memory gives " + "it more");
    }
  } while (!used_.compare_exchange_weak(used, used + bytes));
  if (!CacheFits()) {
    used_ -= bytes;
    CacheFits();
    return ResourceExhausted(what + " takes " + Mib(bytes) + ", over the worker's memory: what " +
                             "is in the cache is in use; --memory gives it more");
  }
  return Lease(shared_from_this(), bytes, false);
}

Result<WorkerMemory::Lease> WorkerMemory::TakeForLong(std::uint64_t bytes,
                                                      const std::string& what) {
  HR_TRY(Lease lease, Take(bytes, what));
  stay_ += bytes;
  lease.stays_ = true;
  return lease;
}

Result<WorkerMemory::Lease> WorkerMemory::TakeInTurn(std::uint64_t bytes, const std::string& what,
                                                     const Waiting& waiting) {
  const auto attempt = [&] {
    if (waiting.reclaim && bytes > Left()) waiting.reclaim();
    return Take(bytes, what);
  };
  if (bytes > limit_ - std::min(limit_, stay_.load())) return attempt();
  const SteadyTime until = Clock::Real().Now() + waiting.patience;
  std::unique_lock lock(turn_mutex_);
  const std::uint64_t turn = next_turn_++;
  turns_.insert(turn);
  Result<Lease> lease{Lease()};
  for (;;) {
    const SteadyTime now = Clock::Real().Now();
    const bool last = now >= until || (waiting.gives_up && waiting.gives_up());
    const std::uint64_t seen = frees_;
    const bool tries = last || *turns_.begin() == turn;
    if (tries) {
      lock.unlock();
      lease = attempt();
      lock.lock();
      if (lease.ok() || last) break;
    }
    if (!tries || frees_ == seen) turn_changed_.wait_for(lock, std::min(kLookAgain, until - now));
  }
  turns_.erase(turn);
  lock.unlock();
  turn_changed_.notify_all();
  return lease;
}

void WorkerMemory::Free(std::uint64_t bytes, bool stays) {
  if (stays) stay_ -= bytes;
  used_ -= bytes;
  CacheFits();
  {
    const std::lock_guard lock(turn_mutex_);
    ++frees_;
  }
  turn_changed_.notify_all();
}

}  // namespace headrace::dataworker
