#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "coordinator/estimate/hit_share.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Bytes of a job's entries on one worker, without the room that is kept for more. A worker of a release
// before does not tell them apart.
[[nodiscard]] inline std::uint64_t EntryBytes(const wire::JobUsage& usage) {
  return usage.cache_entry_bytes > 0 ? usage.cache_entry_bytes : usage.cache_bytes;
}

// What an entry of a data set takes in the cache.
struct EntrySize {
  // As `guess`: these are leaves, which each worker keeps for itself (CacheHostOf).
  static constexpr double kOfLeaves = -1;

  double all = 0, entries = 0;  // what is there: bytes of entries alone, entries
  double room = 0;              // bytes that they take, with room that is kept for more
  double guess = 0;             // bytes of one, while nothing is there
  bool wide = false;            // hosts share them
  [[nodiscard]] double bytes() const { return entries > 0 ? all / entries : guess; }
  [[nodiscard]] bool of_leaves() const { return guess == kOfLeaves; }
  // Adds what a job has on one worker.
  void Add(const wire::JobUsage& usage) {
    all += static_cast<double>(EntryBytes(usage));
    entries += static_cast<double>(usage.cache_entries);
    room += static_cast<double>(usage.cache_bytes);
  }
  void Add(const EntrySize& of_job) {
    all += of_job.all;
    entries += of_job.entries;
    room += of_job.room;
  }
};

// Where the batches of one data set's jobs are made, and what may be cached there, gathered from leases.
// A host here is what keeps samples together (CacheHostOf). Thread-compatible; pure.
class CachePlaces {
 public:
  CachePlaces() = default;
  // `entry_bytes`: mean size of the data set's entries. `wide`: whether hosts share them.
  CachePlaces(double entry_bytes, bool wide) : entry_bytes_(entry_bytes), wide_(wide) {}

  // A lease of one of the jobs. `most_bytes`: what the job may cache on the worker, besides the worker's
  // own limit. Jobs are positions of the caller's.
  void Add(std::size_t job, const wire::WorkerInfo& worker, double millicores, double most_bytes);

  // The hosts, for coordinator/estimate/hit_share.h. Their room counts each worker once.
  [[nodiscard]] const std::vector<CacheHost>& hosts() const { return hosts_; }
  // The batches of one job on each of them, weights. Nothing if it has no lease.
  [[nodiscard]] std::vector<double> Served(std::size_t job) const;
  // Bytes of each job on the worker, of `by_host` (DivideOverHosts). A host's bytes are divided over its
  // workers by their room, and on one worker its jobs have equal parts.
  [[nodiscard]] double BytesOn(WorkerId worker, std::span<const double> by_host) const;
  // What each job needs beyond that to keep all that the worker owns: owners are drawn, so of 150 entries
  // a worker may own 37 more (three standard deviations). 0 for the only worker of a host.
  [[nodiscard]] double SlackOn(WorkerId worker, std::span<const double> by_host) const;

 private:
  struct Place {
    std::size_t host = 0;  // position in hosts_
    double room = 0;
    std::set<std::size_t> jobs;
  };
  double entry_bytes_ = 0;
  bool wide_ = false;
  std::map<std::string, std::size_t> names_;  // of hosts, their positions
  std::vector<CacheHost> hosts_;
  std::map<std::size_t, int> workers_;  // by host: how many have room
  std::map<WorkerId, Place> places_;
  std::map<std::size_t, std::map<std::size_t, double>> served_;  // by job and host
};

}  // namespace headrace::coordinator
