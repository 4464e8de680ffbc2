#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "coordinator/estimate/worker_speeds.h"
#include "coordinator/scaling/job_meter.h"
#include "coordinator/state/ended_jobs.h"
#include "coordinator/state/held_back_samples.h"
#include "coordinator/state/known_datasets.h"
#include "coordinator/state/update.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Glossary
//   job       one training run's request for workers; it has one consumer
//   consumer  one trainer rank; it sends the job's heartbeats
//   session   one loader of a job: a plan and how it was split
//   lease     the right of a job to use a worker; held until the set of leases changes
struct Session {
  SessionId session;
  std::string plan_name;
  std::uint64_t plan_hash = 0;
  wire::Split split;
  std::uint64_t dataset = 0;
  std::int64_t rows = 0;
  bool lanes_stay = false;
  bool far = false;
  bool everywhere = false;
  std::uint64_t source = 0;
  std::vector<std::uint64_t> prefixes = {};
  std::uint64_t leaves = 0;  // of what its lanes keep; 0: it has a data set, or keeps nothing
};

struct Job {
  enum class Phase : std::uint8_t { kRunning, kLost };
  AddJob spec;
  Phase phase = Phase::kRunning;
  std::map<SessionId, Session> sessions;
  std::set<std::uint64_t> datasets;  // of all sessions that it ever had
  std::set<WorkerId> leases;
  std::uint64_t generation = 0;  // grows with every change of `leases`
  // By order of a person.
  bool cancelled = false;
  std::optional<std::int32_t> ordered_priority;
  // Volatile.
  SteadyTime last_seen;
  std::vector<wire::SessionLoad> loads;
  std::vector<wire::UnfitWorker> unfit;  // for one of its loaders
  std::map<WorkerId, SteadyTime> slow;   // since when it calls these slow, without a break
  std::vector<wire::BadSample> bad;
  JobMeter meter;
  // Those on `leases`, and those of cache alone, without cores.
  std::map<WorkerId, wire::JobGrant> grants;
  std::string waits_for;  // why it is not admitted; empty: it is
  GrantWhy why;           // if it is admitted

  [[nodiscard]] double granted_cores() const;
  [[nodiscard]] std::int32_t priority() const { return ordered_priority.value_or(spec.priority); }
  // True if the lanes of one of its sessions stay: its leases are dear.
  [[nodiscard]] bool lanes_stay() const;
  // True if samples of one of its sessions may be cached. What stages of others look for are leaves.
  [[nodiscard]] bool has_dataset() const;
  // True between two loaders: what it keeps is for the next one, and nobody reads it now.
  [[nodiscard]] bool idle() const { return sessions.empty() && !datasets.empty(); }
};

// How a worker has used a job's bandwidth of late. A limit that it was given may have held it back.
struct SourceUse {
  double rate = 0;  // bytes/s
  double held = 0;  // part of the time, 0 to 1
};

struct Worker {
  enum class Phase : std::uint8_t { kReady, kLost };
  wire::WorkerInfo info;
  std::string token;
  Phase phase = Phase::kReady;
  bool draining = false;
  std::string drain_reason;  // as DrainWorker
  std::set<JobId> jobs;      // the same leases, seen from here
  // Volatile.
  std::set<JobId> granted;  // jobs with a grant here
  SteadyTime last_seen;
  SteadyTime suspected_at = SteadyTime::min();
  wire::WorkerHeartbeat last;
  SteadyTime reported_at{};
  std::map<JobId, SourceUse> source_use;
  std::vector<JobId> drained_for;       // for which it was slow
  std::map<JobId, SteadyTime> used_at;  // by its own word, when it last made a sample for them

  [[nodiscard]] bool leasable() const { return phase == Phase::kReady && !draining; }
};

// What the coordinator knows about the cluster. Only Apply changes it. An update that does not fit
// is refused and changes nothing. So every prefix of a journal is a consistent state: each lease
// names a live worker and a running job, and no id is given twice. Thread-compatible; a value (to
// try a step, copy it). Methods: one applies each kind of update, and one answers each question
// about the cluster.
class State {
 public:
  // kDataLoss: the update contradicts the state (an unknown id, an id given before, a stale
  // generation): a damaged journal when replaying, our bug otherwise.
  Status Apply(const Update& update);

  // nullptr if there is no such job or worker.
  [[nodiscard]] const Job* FindJob(JobId job) const;
  [[nodiscard]] const Job* FindJobByToken(std::string_view token) const;
  [[nodiscard]] const Worker* FindWorker(WorkerId worker) const;
  [[nodiscard]] const Worker* FindWorkerByToken(std::string_view token) const;
  // Jobs in order of arrival, which is the order of the ids.
  [[nodiscard]] const std::map<JobId, Job>& jobs() const { return jobs_; }
  [[nodiscard]] const std::map<WorkerId, Worker>& workers() const { return workers_; }

  [[nodiscard]] JobId next_job() const { return JobId(counters_.next_job); }
  [[nodiscard]] ConsumerId next_consumer() const { return ConsumerId(counters_.next_consumer); }
  [[nodiscard]] WorkerId next_worker() const { return WorkerId(counters_.next_worker); }
  // CPU of the workers that were removed.
  [[nodiscard]] double ended_cpu_seconds() const { return counters_.ended_cpu_seconds; }
  // When the last control period ended.
  [[nodiscard]] SteadyTime period_ended() const { return period_ended_; }

  // The samples that no worker is given.
  [[nodiscard]] const HeldBackSamples& held_back() const { return held_back_; }
  [[nodiscard]] const EndedJobs& ended_jobs() const { return ended_; }
  // The data sets of its jobs, also of those that have ended.
  [[nodiscard]] const KnownDatasets& datasets() const { return datasets_; }
  // Of the workers' cores. Volatile.
  [[nodiscard]] const WorkerSpeeds& speeds() const { return speeds_; }
  // See SetFillRates. Volatile.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& fill_rates() const {
    return fill_rates_;
  }
  // The number of programs that asked for a job in the last kAsksAgain and found no room, at most
  // kMostAsking. Volatile.
  static constexpr Duration kAsksAgain = std::chrono::seconds(5);
  static constexpr std::size_t kMostAsking = 1024;
  [[nodiscard]] std::size_t asking_for_room() const { return asking_.size(); }
  // When a worker was last drained because it was slow; SteadyTime::min(): none was. Volatile.
  [[nodiscard]] SteadyTime slow_drained_at() const { return slow_drained_at_; }
  [[nodiscard]] std::uint64_t slow_drains() const { return slow_drains_; }

  // Gives the shortest list of durable updates that makes this state again (without its volatile
  // part).
  [[nodiscard]] std::vector<Update> Snapshot() const;

 private:
  Status On(const AddJob& update);
  Status On(const MarkJobLost& update);
  Status On(const ReviveJob& update);
  Status On(const RemoveJob& update);
  Status On(const RememberJob& update);
  Status On(const OrderJob& update);
  Status On(const AddSession& update);
  Status On(const RemoveSession& update);
  Status On(const AddWorker& update);
  Status On(const MarkWorkerLost& update);
  Status On(const ReviveWorker& update);
  Status On(const DrainWorker& update);
  Status On(const RemoveWorker& update);
  Status On(const SetLeases& update);
  Status On(const SetCounters& update);
  Status On(const SeeConsumer& update);
  Status On(const SeeWorker& update);
  Status On(const ReportWorker& update);
  Status On(const EndPeriod& update);
  Status On(const SetGrants& update);
  Status On(const ExplainGrants& update);
  Status On(const SuspectWorker& update);
  Status On(const SettleWorkerCpu& update);
  Status On(const RestartClocks& update);
  Status On(const HoldBack& update);
  Status On(const ForgetHeldBack& update);
  Status On(const AskForRoom& update);
  Status On(const CountSlowDrain& update);
  Status On(const RememberDataset& update);
  Status On(const PinDataset& update);
  Status On(const UnpinDataset& update);
  Status On(const WarmDataset& update);
  Status On(const DropDataset& update);
  Status On(const SetFillRates& update);

  void TakeGrantsOf(Job& job);
  void EndReading(const Job& job);
  void HoldLeaves();  // tells the meters
  void FreeLeasesOf(Job& job);
  void FreeLeasesOf(Worker& worker);

  std::map<JobId, Job> jobs_;
  std::map<WorkerId, Worker> workers_;
  std::unordered_map<std::string, JobId> jobs_by_token_;
  std::unordered_map<std::string, WorkerId> workers_by_token_;
  SetCounters counters_;
  HeldBackSamples held_back_;
  KnownDatasets datasets_;
  WorkerSpeeds speeds_;
  EndedJobs ended_;
  std::map<std::string, std::uint64_t> fill_rates_;
  // By host and process: when they last asked for room.
  std::map<std::pair<std::string, std::int64_t>, SteadyTime> asking_;
  SteadyTime slow_drained_at_ = SteadyTime::min();
  std::uint64_t slow_drains_ = 0;
  SteadyTime period_ended_{};
};

// Mean cores in a core of those that the job has; 1: it has none.
[[nodiscard]] double SpeedOfCores(const State& state, const Job& job);

}  // namespace headrace::coordinator
