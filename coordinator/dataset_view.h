#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "coordinator/cache_places.h"
#include "coordinator/estimate/estimator.h"
#include "coordinator/state/state.h"

// What the coordinator knows of the data sets that are cached, gathered from jobs, leases and
// heartbeats. Pure.
namespace headrace::coordinator {

// The largest of the jobs' sessions whose samples may be cached: it stands for the data set of a job, or
// of the ranks of one program. nullptr: there is none.
[[nodiscard]] const Session* CachedSession(std::span<const Job* const> jobs);

// Bytes of an entry, while nothing of it is cached: from the bytes that are read for it.
[[nodiscard]] double EntryGuess(double miss_bytes);
// Bytes of a whole data set in caches, with slack, since its samples differ in size.
[[nodiscard]] double DatasetBytes(std::int64_t rows, double entry_bytes);

struct DatasetView {
  std::uint64_t dataset = 0;
  std::set<std::uint64_t> of_sessions;  // Session::dataset of its jobs; several: see CommonForms
  std::int32_t nodes = 0;               // of a common form; 0: each plan's own cache point
  const Session* session = nullptr;     // the largest
  std::vector<const Job*> jobs;         // that run, by id
  CachePlaces places;                   // their leases; jobs as positions in `jobs`
  EntrySize size;
  double bytes = 0;  // DatasetBytes
  double quota = 0;  // bytes granted to its jobs, on all workers
  double free = 0;   // bytes of the caches of these workers that no job was granted
  // What its jobs measured, by their rates.
  Terms terms;
  double hit = 0;      // share of reads from the cache, in the form that is held
  double fetch_s = 0;  // see SourceReads
  double read_bytes = 0;
  bool waits_for_source = false;  // one of them does, now
  bool encoded = false;           // by the grants that hold
  // Hosts share its samples. Their names hold on all hosts, and to ask costs less than to read and make one.
  bool wide = false;
};
// By data set.
[[nodiscard]] std::map<std::uint64_t, DatasetView> ViewDatasets(const State& state);
// The one that a data set of sessions (Session::dataset) belongs to; nullptr: no running job reads it.
[[nodiscard]] const DatasetView* FindView(const std::map<std::uint64_t, DatasetView>& views,
                                          std::uint64_t dataset);

// Whether the encoded bytes of a data set should be kept, in place of the output at its cache point. They
// may be where its samples are far. The choice is by what is measured (ChooseForm). It is the same for
// all jobs of the data set, and the first change wants a job that waits for the source.
[[nodiscard]] bool KeepsEncoded(const DatasetView& view);

}  // namespace headrace::coordinator
