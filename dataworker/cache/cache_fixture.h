#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/replica_shelf.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/cache/sealed_memory.h"

// For tests: entries that tell what they are, and lookups that wait for slow tiers.
namespace headrace::dataworker {

inline const JobId kJob(1);
inline const JobId kOther(2);
inline constexpr std::uint64_t kNoQuota = std::uint64_t{1} << 60;

inline CacheKey Key(std::uint64_t inode, std::int64_t version = 0, std::uint64_t form = 7) {
  return {.content = {.place = {1, inode}, .version = {10, static_cast<std::uint64_t>(version), 0}},
          .form = {form, 0}};
}

// Content that tells from which key and version it is, everywhere.
inline Bytes Payload(std::uint64_t inode, std::int64_t version, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(inode * 31 + static_cast<std::uint64_t>(version) * 7 + i);
  }
  return bytes;
}

// `cache`: a CacheTier or a SampleStore.
template <typename Cache>
bool Put(Cache& cache, JobId job, std::uint64_t inode, std::size_t size, std::int64_t version = 0) {
  auto claim = cache.TryClaim(job, Key(inode, version), size);
  return claim && claim.Commit(Payload(inode, version, size));
}

// A copy of an entry that another worker owns, if the tier keeps such.
inline void KeepReplica(CacheTier& tier, JobId job, std::uint64_t inode, std::size_t size) {
  ReplicaShelf* const replicas = tier.replicas();
  if (replicas == nullptr) return;
  replicas->AddJobs({job});
  replicas->Keep(job, Key(inode), Payload(inode, 0, size), {}, WorkerId(2));
}

inline bool Equal(ByteSpan a, ByteSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Memory that another process has filled with the entries of these samples, whose marks tell which they are.
struct SealedSamples {
  std::shared_ptr<SealedMemory> memory;
  std::vector<SealedEntry> entries;
};
inline EntryMark MarkOf(std::uint64_t inode) { return {inode + 1, 2, 3, 4}; }
inline SealedSamples Sealed(const std::vector<std::uint64_t>& inodes, std::size_t size,
                            Duration cost = std::chrono::seconds(1), std::int64_t version = 0) {
  SealedSamples sealed;
  Bytes content;
  for (const std::uint64_t inode : inodes) {
    sealed.entries.push_back({Key(inode, version), content.size(), size, cost, MarkOf(inode)});
    const Bytes payload = Payload(inode, version, size);
    content.insert(content.end(), payload.begin(), payload.end());
    content.resize((content.size() + 63) / 64 * 64);
  }
  content.resize(content.size() + 4096);
  UniqueFd file(::memfd_create("samples", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  HR_CHECK(::write(file.get(), content.data(), content.size()) ==
           static_cast<ssize_t>(content.size()));
  HR_CHECK(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  auto taken = SealedMemory::Take(std::move(file), content.size());
  HR_CHECK(taken.ok());
  sealed.memory = std::move(taken).value();
  return sealed;
}

// Makes a slow tier answer what it was asked, as its device would.
using Pump = std::function<void()>;
inline const Pump kNoPump = [] {};

// One open question.
template <typename Answer>
struct Open {
  std::atomic<int> answers = 0;
  Answer answer;

  void Take(Answer taken) {
    answer = std::move(taken);
    ++answers;
  }
  Answer Wait(const Pump& pump) {
    while (answers == 0) pump();
    return std::move(answer);
  }
};

inline CachePin Ask(CacheTier& tier, JobId job, const CacheKey& key, const Pump& pump = kNoPump) {
  CacheLookup answer = tier.Find(job, key);
  if (!answer.later) return std::move(answer.pin);
  const auto open = std::make_shared<Open<CachePin>>();
  tier.Fetch(job, key, [open](CachePin pin) { open->Take(std::move(pin)); });
  return open->Wait(pump);
}

inline CacheLookup AskStore(SampleStore& store, JobId job, const CacheKey& key,
                            const Pump& pump = kNoPump) {
  CacheLookup found = store.Find(job, key);
  if (!found.later) return found;
  const auto open = std::make_shared<Open<CacheLookup>>();
  store.FindLater(job, key, found, [open](CacheLookup answer) { open->Take(std::move(answer)); });
  return open->Wait(pump);
}

inline JobCacheStats StatsOf(const CacheTier& cache, JobId job) {
  for (const JobCacheStats& stats : cache.JobStats()) {
    if (stats.job == job) return stats;
  }
  return {.job = job};
}

// How many of the job's first `count` samples are there.
inline int Kept(CacheTier& cache, JobId job, std::uint64_t count, std::uint64_t first = 0,
                const Pump& pump = kNoPump) {
  int kept = 0;
  for (std::uint64_t inode = first; inode < first + count; ++inode) {
    if (const CachePin pin = Ask(cache, job, Key(inode), pump)) {
      kept += Equal(pin.bytes(), Payload(inode, 0, pin.bytes().size())) ? 1 : -1000;
    }
  }
  return kept;
}

}  // namespace headrace::dataworker
