#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "dataworker/source/core/source.h"

// Keeps samples between epochs and jobs (docs/howto/add-cache.md).
namespace headrace::dataworker {

// What an entry holds: `form` 0 is the encoded bytes, anything else the payload of
// ops::ChainRunner::RunPrefix for the chain with that prefix_hash().
struct CacheKey {
  ContentIdentity content;
  std::uint64_t form = 0;
};

// Read access to an entry; empty on a miss. The bytes stay valid while the pin lives, whatever the
// cache does. Movable; thread-compatible.
class CachePin {
 public:
  CachePin() = default;
  CachePin(ByteSpan bytes, std::shared_ptr<const void> hold)
      : bytes_(bytes), hold_(std::move(hold)) {}
  explicit operator bool() const { return hold_ != nullptr; }
  [[nodiscard]] ByteSpan bytes() const { return bytes_; }

 private:
  ByteSpan bytes_;
  std::shared_ptr<const void> hold_;
};

struct CacheStats {
  std::uint64_t bytes = 0;  // of memory, with overhead; never above the budget
  std::uint64_t budget = 0;
  std::uint64_t entries = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};

// Counts of one job. Its entries are those that it stored, even if other jobs find them.
struct JobCacheStats {
  JobId job;
  std::uint64_t bytes = 0;  // of memory, with overhead
  std::uint64_t entries = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};

// A cache tier. Thread-safe. Admits until it is full and never evicts for a job whose data fills
// it: under shuffled epochs that hits c/d of the reads, which no eviction order reaches (SiloD).
// A live job loses only what SetQuota takes from it.
class SampleCache {
 public:
  // The right to make and store one entry. Only one thread has it at a time. Its destructor gives
  // it back unless Commit was called. Movable; must not outlive the cache.
  class Claim {
   public:
    Claim() = default;
    Claim(SampleCache& cache, JobId job, const CacheKey& key)
        : cache_(&cache), job_(job), key_(key) {}
    Claim(Claim&& other) noexcept
        : cache_(std::exchange(other.cache_, nullptr)), job_(other.job_), key_(other.key_) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
      if (cache_ != nullptr) cache_->Abandon(key_);
    }
    explicit operator bool() const { return cache_ != nullptr; }
    // Copies the payload into the entry. False: there is no room for it after all.
    bool Commit(ByteSpan payload) {
      return std::exchange(cache_, nullptr)->Store(job_, key_, payload);
    }

   private:
    SampleCache* cache_ = nullptr;
    JobId job_;
    CacheKey key_;
  };

  virtual ~SampleCache() = default;

  // Finds the entry of exactly this content, and drops an entry of older content of the same file.
  virtual CachePin Find(JobId job, const CacheKey& key) = 0;
  // Returns the right to make an entry. Empty: the entry is there, another thread makes it, or
  // `expected_bytes` would not fit. Then the caller makes the sample in the cheapest way, for
  // itself alone.
  virtual Claim TryClaim(JobId job, const CacheKey& key, std::size_t expected_bytes) = 0;

  // Lets a job with attached sessions add entries up to `quota` bytes of the budget. The entries of
  // a job that has gone stay for others until somebody needs their room.
  virtual void AddJob(JobId job, std::uint64_t quota) = 0;
  virtual void RemoveJob(JobId job) = 0;
  // Replaces the quotas of AddJob, also before the first AddJob and after the last session. Without
  // a value those quotas hold again. A job that has more gives up entries until it fits, those that
  // nobody else uses first. It never gives up an entry that is in use (pinned) or being made; a
  // later SetQuota takes those.
  virtual void SetQuota(JobId job, std::optional<std::uint64_t> quota) = 0;

  [[nodiscard]] virtual CacheStats Stats() const = 0;
  // The jobs that are attached or have entries, by id.
  [[nodiscard]] virtual std::vector<JobCacheStats> JobStats() const = 0;

 protected:
  virtual bool Store(JobId job, const CacheKey& key, ByteSpan payload) = 0;
  virtual void Abandon(const CacheKey& key) = 0;
};

// Keeps a job known to the cache while one of its sessions, or a batch of one, lives.
class CacheLease {
 public:
  CacheLease(SampleCache& cache, JobId job, std::uint64_t quota) : cache_(cache), job_(job) {
    cache_.AddJob(job_, quota);
  }
  CacheLease(const CacheLease&) = delete;
  CacheLease& operator=(const CacheLease&) = delete;
  ~CacheLease() { cache_.RemoveJob(job_); }
  [[nodiscard]] SampleCache& cache() const { return cache_; }
  [[nodiscard]] JobId job() const { return job_; }

 private:
  SampleCache& cache_;
  const JobId job_;
};

}  // namespace headrace::dataworker
