#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/share/wanted_form.h"
#include "dataworker/share/work_queue.h"
#include "schemas/wire/control.h"

namespace headrace::dataworker {

// Knows what each job may use of this worker by the coordinator's grants, and what it has used. It
// tells the parts that enforce it: the work queue (threads, sources), the cache, the gates of stage
// processes. Reactor thread.
class JobLedger {
 public:
  // `threads`: the shared cores. Both outlive it.
  JobLedger(WorkQueue& queue, SampleStore& cache, int threads)
      : queue_(queue), cache_(cache), threads_(threads) {}

  // A session that is attached here.
  struct Attached {
    JobId job;
    SteadyTime since{};
    std::size_t stage_batches = 0;   // of it in its stage
    std::int64_t stage_samples = 0;  // of those batches that have not begun
  };

  // Applies the coordinator's grants: a whole set, in place of the former one.
  //
  //   grants                    a job has what its grant says. Jobs of one data set have their
  //                             cache together. A grant for a job without a lease is of cache alone:
  //                             other workers keep its samples here
  //   a grant that is idle      the job has no session: what it has stays, as that of ended jobs
  //   no grant any more         its lease here has ended, or it never had one and a directive that
  //                             was asked for after its Attach does not name it: WorkQueue::Drain,
  //                             and its entries stay as they are. What it asks is still answered
  //   jobs, but no grant at all the coordinator is older: WorkQueue's defaults, quotas of Attach
  //
  // `asked`: when the heartbeat went out that it answers; nothing: it came unasked. A coordinator
  // that is silent changes nothing.
  void OnDirective(const wire::WorkerDirective& directive, std::optional<SteadyTime> asked,
                   std::span<const Attached> sessions);

  void AddSamples(JobId job, std::uint64_t samples) { made_[job].samples += samples; }
  // Adds CPU time of stage processes to the account; WorkQueue::Charge charges the share.
  void AddStageCpu(JobId job, std::uint64_t ns) { made_[job].stage_cpu_ns += ns; }

  // The cores that the stage processes of one session of the job may keep busy together. It is the
  // job's part by weight among the jobs that have work now, so what others leave is used. Infinite
  // when nobody else has work.
  [[nodiscard]] double StageCores(JobId job, std::span<const Attached> sessions);

  // What the cache keeps of the job's samples, by its grant.
  [[nodiscard]] WantedForm FormOf(JobId job) const {
    const auto at = forms_.find(job);
    return at == forms_.end() ? WantedForm() : at->second;
  }

  // The jobs with sessions or entries in the cache, by id. Others are forgotten.
  [[nodiscard]] std::vector<wire::JobUsage> Usage(std::span<const Attached> sessions);

 private:
  struct Made {
    std::uint64_t samples = 0;
    std::uint64_t stage_cpu_ns = 0;
  };
  void EndGrant(JobId job);
  // What the job has in the cache stays as it is, and nothing is added, until it has a quota again.
  void Freeze(JobId job);
  void SetCacheQuotas(const std::vector<wire::JobGrant>& grants);

  WorkQueue& queue_;
  SampleStore& cache_;
  const int threads_;
  bool has_grants_ = false;  // the coordinator is one that gives them
  std::set<JobId> granted_;
  std::map<JobId, WantedForm> forms_;
  std::set<JobId> cached_;  // jobs with a grant of cache, with a lease here or without
  std::map<JobId, std::uint64_t> data_set_;  // of these
  std::set<JobId> ended_;                    // jobs whose cache quota stays as it was
  std::map<JobId, Made> made_;
};

}  // namespace headrace::dataworker
