#include "dataworker/memory/worker_memory.h"

#include <algorithm>

namespace headrace::dataworker {
namespace {

constexpr int kTries = 8;

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
    fits = keep_to(left) <= left;
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
  Lease lease(shared_from_this(), bytes);
  if (!CacheFits()) {
    return ResourceExhausted(what + " takes " + Mib(bytes) + ", over the worker's memory: what " +
                             "is in the cache is in use; --memory gives it more");
  }
  return lease;
}

void WorkerMemory::Free(std::uint64_t bytes) {
  used_ -= bytes;
  CacheFits();
}

}  // namespace headrace::dataworker
