#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/hash.h"
#include "dataworker/cache/cache_tier.h"

namespace headrace::dataworker {

// For tests: a tier as a disk or a peer is one. It has an index in memory, answers a Fetch when the
// test says so, in an order that the seed draws, and can fail. Thread-safe. Methods: a tier's.
class FakeSlowTier final : public CacheTier {
 public:
  // Each is a probability, 0..1.
  struct Faults {
    double full = 0;     // the medium takes no entry: an error of the write
    double corrupt = 0;  // the medium keeps other bytes than it was given
  };
  FakeSlowTier(std::uint64_t budget, unsigned seed)
      : room_(std::make_shared<Room>(budget)), random_(seed) {}
  ~FakeSlowTier() override { Stop(); }

  void SetFaults(const Faults& faults) {
    const std::lock_guard lock(mutex_);
    faults_ = faults;
  }
  // The device is taken away: its entries are lost, and nothing is taken or found any more.
  void TakeAway() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    entries_.clear();
  }
  // Answers one open fetch. False: none is open.
  bool AnswerOne() {
    std::unique_lock lock(mutex_);
    if (open_.empty()) return false;
    std::swap(open_[random_() % open_.size()], open_.back());
    Open open = std::move(open_.back());
    open_.pop_back();
    ++answering_;
    CachePin pin = stopped_ ? CachePin() : Look(open.job, open.key);
    lock.unlock();
    std::exchange(open.on_found, nullptr)(std::move(pin));
    lock.lock();
    --answering_;
    return true;
  }
  // What each entry took to make, as it was stored.
  [[nodiscard]] std::vector<Duration> costs() const {
    const std::lock_guard lock(mutex_);
    return costs_;
  }
  [[nodiscard]] std::size_t open() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

  CacheLookup Find(JobId job, const CacheKey& key) override {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(EntryId::Of(key));
    if (entry != entries_.end() && entry->second.blob) {
      if (entry->second.content == key.content) return {.pin = {}, .later = true};
      entries_.erase(entry);
    }
    ++jobs_[job].misses;
    return {};
  }
  void Fetch(JobId job, const CacheKey& key, OnFound on_found) override {
    {
      const std::lock_guard lock(mutex_);
      if (!stopped_) {
        open_.push_back({job, key, std::move(on_found)});
        return;
      }
    }
    on_found({});
  }
  Claim TryClaim(JobId job, const CacheKey& key, std::size_t expected_bytes) override {
    const std::lock_guard lock(mutex_);
    if (entries_.contains(EntryId::Of(key))) return Claim(Refusal::kTaken);
    if (gone_ || Chance(faults_.full) || !HasRoom(job, expected_bytes)) {
      return Claim(Refusal::kNoRoom);
    }
    entries_[EntryId::Of(key)] = {.content = key.content};
    return {*this, job, key};
  }
  void Forget(const CacheKey& key) override {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(EntryId::Of(key));
    if (entry == entries_.end() || !entry->second.blob) return;
    if (entry->second.content == key.content) entries_.erase(entry);
  }

  void AddJob(JobId job, std::uint64_t quota) override {
    const std::lock_guard lock(mutex_);
    Job& of = jobs_[job];
    of.asked = of.sessions == 0 ? quota : std::max(of.asked, quota);
    ++of.sessions;
    of.quota->limit = of.granted.value_or(of.asked);
  }
  void RemoveJob(JobId job) override {
    const std::lock_guard lock(mutex_);
    --jobs_[job].sessions;
  }
  void SetQuota(JobId job, std::optional<std::uint64_t> quota) override {
    std::vector<std::pair<EntryId, Entry>> given_up;
    {
      const std::lock_guard lock(mutex_);
      Job& of = jobs_[job];
      of.granted = quota;
      of.quota->limit = of.granted.value_or(of.asked);
      for (const bool others_too : {false, true}) {
        for (auto at = entries_.begin(); at != entries_.end();) {
          const Entry& entry = at->second;
          const bool may = entry.blob && entry.owner == job && entry.blob.use_count() == 1 &&
                           (others_too || entry.user == job || jobs_[entry.user].sessions == 0);
          std::uint64_t kept = of.quota->used;
          for (const auto& each : given_up) kept -= each.second.blob->need;
          if (may && kept > of.quota->limit) {
            given_up.emplace_back(at->first, std::move(at->second));
            at = entries_.erase(at);
          } else {
            ++at;
          }
        }
      }
    }
    for (const auto& [id, entry] : given_up) Offer(id, entry);
  }
  void SetKept(const std::set<JobId>& jobs) override {
    const std::lock_guard lock(mutex_);
    kept_ = jobs;
  }
  void Doom(const std::set<JobId>& jobs) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& each) {
      const Entry& entry = each.second;
      const bool of_the_gone = jobs_[entry.owner].sessions == 0 && jobs.contains(entry.user);
      return entry.blob && (jobs.contains(entry.owner) || of_the_gone);
    });
  }
  bool SweepDoomed() override { return true; }
  void SetOnGivenUp(OnGivenUp on_given_up) override { on_given_up_ = std::move(on_given_up); }
  void Stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    while (AnswerOne()) {
    }
    while (true) {
      const std::lock_guard lock(mutex_);
      if (answering_ == 0) return;
    }
  }

  [[nodiscard]] CacheStats Stats() const override {
    const std::lock_guard lock(mutex_);
    CacheStats stats{.bytes = room_->used, .budget = room_->limit};
    for (const auto& [id, entry] : entries_) stats.entries += entry.blob ? 1 : 0;
    for (const auto& [id, job] : jobs_) {
      stats.hits += job.hits;
      stats.misses += job.misses;
    }
    return stats;
  }
  [[nodiscard]] std::vector<JobCacheStats> JobStats() const override {
    const std::lock_guard lock(mutex_);
    std::map<JobId, std::uint64_t> entries;
    for (const auto& [id, entry] : entries_) entries[entry.owner] += entry.blob ? 1 : 0;
    std::vector<JobCacheStats> stats;
    for (const auto& [id, job] : jobs_) {
      if (job.sessions == 0 && !entries.contains(id)) continue;
      stats.push_back({id, job.quota->used, entries[id], job.hits, job.misses, job.quota->used});
    }
    return stats;
  }

 protected:
  bool Store(JobId job, const CacheKey& key, ByteSpan payload, Duration cost) override {
    const std::uint64_t need = payload.size() + kOverhead;
    MakeRoom(job, need);
    const std::lock_guard lock(mutex_);
    const EntryId id = EntryId::Of(key);
    const std::shared_ptr<Room>& quota = jobs_[job].quota;
    if (gone_ || Chance(faults_.full) || jobs_[job].sessions <= 0 || room_->free() < need ||
        quota->free() < need) {
      entries_.erase(id);
      return false;
    }
    auto blob = std::make_shared<Blob>(room_, quota, need, payload);
    if (!payload.empty() && Chance(faults_.corrupt)) {
      blob->bytes[random_() % payload.size()] ^= std::byte{1};
    }
    entries_[id] = {key.content, std::move(blob), HashBytes(payload), job, job, cost};
    costs_.push_back(cost);
    return true;
  }
  void Abandon(const CacheKey& key) override {
    const std::lock_guard lock(mutex_);
    entries_.erase(EntryId::Of(key));
  }

 private:
  static constexpr std::uint64_t kOverhead = 100;
  struct Room {
    explicit Room(std::uint64_t most) : limit(most) {}
    std::atomic<std::uint64_t> limit;
    std::atomic<std::uint64_t> used = 0;
    [[nodiscard]] std::uint64_t free() const { return limit > used ? limit - used : 0; }
  };
  // Counts as long as an entry or a pin has it.
  struct Blob {
    Blob(std::shared_ptr<Room> all, std::shared_ptr<Room> own, std::uint64_t takes,
         ByteSpan payload)
        : room(std::move(all)), quota(std::move(own)), need(takes), size(payload.size()) {
      bytes.resize(size + ScratchBuffer::kSlack);
      std::copy(payload.begin(), payload.end(), bytes.begin());
      room->used += need;
      quota->used += need;
    }
    Blob(const Blob&) = delete;
    Blob& operator=(const Blob&) = delete;
    ~Blob() {
      room->used -= need;
      quota->used -= need;
    }
    const std::shared_ptr<Room> room, quota;
    const std::uint64_t need;
    const std::size_t size;
    Bytes bytes;
    [[nodiscard]] ByteSpan payload() const { return ByteSpan(bytes).first(size); }
  };
  struct Entry {
    ContentIdentity content;
    std::shared_ptr<Blob> blob;  // empty: claimed, being made
    std::uint64_t hash = 0;
    JobId owner, user;
    Duration cost{};
  };
  struct Job {
    std::shared_ptr<Room> quota = std::make_shared<Room>(0);
    std::uint64_t asked = 0;
    std::optional<std::uint64_t> granted;
    int sessions = 0;
    std::uint64_t hits = 0, misses = 0;
  };
  struct Open {
    JobId job;
    CacheKey key;
    OnFound on_found;
  };

  // Gives up entries of jobs that have gone until `need` more bytes fit.
  void MakeRoom(JobId job, std::uint64_t need) {
    std::vector<std::pair<EntryId, Entry>> given_up;
    {
      const std::lock_guard lock(mutex_);
      if (jobs_[job].quota->free() < need) return;
      std::uint64_t room = room_->free();
      for (auto at = entries_.begin(); at != entries_.end() && room < need;) {
        const Entry& entry = at->second;
        const bool may = entry.blob.use_count() == 1 && !Held(entry);
        if (may) {
          room += entry.blob->need;
          given_up.emplace_back(at->first, std::move(at->second));
        }
        at = may ? entries_.erase(at) : std::next(at);
      }
    }
    for (const auto& [id, entry] : given_up) Offer(id, entry);
  }
  // REQUIRES: the lock is not held.
  void Offer(const EntryId& id, const Entry& entry) {
    if (!on_given_up_ || HashBytes(entry.blob->payload()) != entry.hash) return;
    on_given_up_(entry.owner, {entry.content, id.form}, {entry.blob->payload(), entry.blob}, {});
  }

  // Guarded by mutex_ from here on.
  bool Held(const Entry& entry) {
    return jobs_[entry.user].sessions > 0 || kept_.contains(entry.user) ||
           kept_.contains(entry.owner);
  }
  bool Chance(double probability) {
    return probability > 0 && static_cast<double>(random_() % 1000) < probability * 1000;
  }
  bool HasRoom(JobId job, std::size_t bytes) {
    const std::uint64_t need = bytes + kOverhead;
    if (jobs_[job].sessions <= 0 || jobs_[job].quota->free() < need) return false;
    std::uint64_t room = room_->free();
    for (const auto& [id, entry] : entries_) {
      if (room >= need) break;
      if (entry.blob && !Held(entry)) room += entry.blob->need;
    }
    return room >= need;
  }
  // What the device finds, checked.
  CachePin Look(JobId job, const CacheKey& key) {
    const auto at = entries_.find(EntryId::Of(key));
    if (at != entries_.end() && at->second.blob && at->second.content == key.content) {
      Entry& entry = at->second;
      if (HashBytes(entry.blob->payload()) == entry.hash) {
        entry.user = job;
        ++jobs_[job].hits;
        return {entry.blob->payload(), entry.blob, entry.cost};
      }
      entries_.erase(at);
    }
    ++jobs_[job].misses;
    return {};
  }

  const std::shared_ptr<Room> room_;
  OnGivenUp on_given_up_;  // set before the first entry
  mutable std::mutex mutex_;
  std::mt19937 random_;
  Faults faults_;
  bool gone_ = false, stopped_ = false;
  int answering_ = 0;
  std::unordered_map<EntryId, Entry, HashEntryId> entries_;
  std::map<JobId, Job> jobs_;
  std::set<JobId> kept_;
  std::vector<Open> open_;
  std::vector<Duration> costs_;
};

}  // namespace headrace::dataworker
