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

// Read access to an entry, empty on a miss. The bytes stay while the pin lives, whatever the cache
// does meanwhile. Movable; thread-compatible.
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

// Of one job: its entries are those that it stored, whoever finds them.
struct JobCacheStats {
  JobId job;
  std::uint64_t bytes = 0;  // of memory, with overhead
  std::uint64_t entries = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};

// A cache tier. Thread-safe. Admits until it is full and never evicts for a job whose data fills
// it: under shuffled epochs that hits c/d of the reads, which no eviction order reaches (SiloD).
// What a job that lives loses is what SetQuota takes from it, and nothing else.
class SampleCache {
 public:
  // The right to make and store one entry; only one thread has it at a time. Gives it back when it
  // goes without Commit. Movable; must not outlive the cache.
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
    // Copies the payload in. False when there is no room for it after all.
    bool Commit(ByteSpan payload) {
      return std::exchange(cache_, nullptr)->Store(job_, key_, payload);
    }

   private:
    SampleCache* cache_ = nullptr;
    JobId job_;
    CacheKey key_;
  };

  virtual ~SampleCache() = default;

  // The entry of exactly this content; an entry of older content of the same file is dropped.
  virtual CachePin Find(JobId job, const CacheKey& key) = 0;
  // Empty when the entry is there, when another thread makes it, or when `expected_bytes` would not
  // fit: then the caller makes the sample the cheapest way, for itself alone.
  virtual Claim TryClaim(JobId job, const CacheKey& key, std::size_t expected_bytes) = 0;

  // A job with attached sessions may add entries up to `quota` bytes of the budget. The entries of
  // a job that has gone stay for others, and give way when somebody needs their room.
  virtual void AddJob(JobId job, std::uint64_t quota) = 0;
  virtual void RemoveJob(JobId job) = 0;
  // Stands in place of the quotas of AddJob from now on, also before the first and behind the last;
  // without a value they hold again. A job that has more gives entries up until it fits, those that
  // nobody else uses first; never one that is in use (pinned) or being made. What is kept back so
  // goes with a later SetQuota.
  virtual void SetQuota(JobId job, std::optional<std::uint64_t> quota) = 0;

  [[nodiscard]] virtual CacheStats Stats() const = 0;
  // Jobs that are attached or have entries, by id.
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
