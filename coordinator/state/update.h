#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "coordinator/policy/core/grant_why.h"
#include "schemas/wire/control.h"

// Every change to the coordinator's State, as plain data. The durable changes are the journal's
// records (journal_codec.h). The volatile ones, liveness and load, come again with the heartbeats
// after a restart.
namespace headrace::coordinator {

// Adds a job, or opens it again (same id) for its owner.
struct AddJob {
  JobId job;
  ConsumerId consumer;
  std::string token;
  std::string name;
  wire::HostIdentity host;
  std::string version;
  std::int32_t wanted_workers = 0;
  std::uint64_t cache_bytes = 0;
  std::int64_t opened_ms = 0;
  std::string tenant;
  std::int32_t priority = 0;
  std::string group;
  std::int32_t rank = -1;
  std::uint64_t link_bytes_per_second = 0;  // as wire::OpenJob's
  std::string rack = {};
  friend bool operator==(const AddJob&, const AddJob&) = default;
};
// Marks the job lost and frees its leases.
struct MarkJobLost {
  JobId job;
  friend bool operator==(const MarkJobLost&, const MarkJobLost&) = default;
};
struct ReviveJob {
  JobId job;
  friend bool operator==(const ReviveJob&, const ReviveJob&) = default;
};
struct RemoveJob {
  JobId job;
  friend bool operator==(const RemoveJob&, const RemoveJob&) = default;
};
// Keeps what people may ask of a job that is removed next.
struct RememberJob {
  wire::EndedJob job;
  friend bool operator==(const RememberJob&, const RememberJob&) = default;
};
// What a person ordered about the job. It stays until the job ends.
struct OrderJob {
  JobId job;
  bool cancelled = false;                // it gets no worker
  std::optional<std::int32_t> priority;  // in place of what its program asked for
  friend bool operator==(const OrderJob&, const OrderJob&) = default;
};
struct AddSession {
  JobId job;
  SessionId session;
  std::string plan_name;
  std::uint64_t plan_hash = 0;
  wire::Split split;
  std::uint64_t dataset = 0;  // what is cached: equal sources and an equal prefix have the same
  std::int64_t rows = 0;
  bool lanes_stay = false;  // lanes stay with their worker, or are made again (ADR 0012, 0019)
  bool far = false;         // its samples are objects in stores, so that a read of them takes time
  bool everywhere = false;  // and all of them have names that hold on all hosts
  // Equal for equal sources, whatever is made of them; 0: nothing is cached.
  std::uint64_t source = 0;
  std::vector<std::uint64_t> prefixes = {};  // NativeForm::prefixes
  // Of a Python stage: the number of the data set of what its lanes keep (LeafNumberOf); 0: they keep nothing.
  std::uint64_t leaves = 0;
  friend bool operator==(const AddSession&, const AddSession&) = default;
};
struct RemoveSession {
  JobId job;
  SessionId session;
  friend bool operator==(const RemoveSession&, const RemoveSession&) = default;
};
// Adds a worker, or registers the same process again (same id).
struct AddWorker {
  std::string token;
  wire::WorkerInfo info;  // info.worker is its id
  friend bool operator==(const AddWorker&, const AddWorker&) = default;
};
// Marks the worker lost. The leases that name it end, and the generation of each of their jobs
// grows. The same holds for DrainWorker and RemoveWorker.
struct MarkWorkerLost {
  WorkerId worker;
  friend bool operator==(const MarkWorkerLost&, const MarkWorkerLost&) = default;
};
struct ReviveWorker {
  WorkerId worker;
  friend bool operator==(const ReviveWorker&, const ReviveWorker&) = default;
};
struct DrainWorker {
  WorkerId worker;
  std::string reason = {};  // for people; empty: its pool or itself wants it
  friend bool operator==(const DrainWorker&, const DrainWorker&) = default;
};
struct RemoveWorker {
  WorkerId worker;
  double cpu_seconds = 0;  // what it used in all: goes into the sum over ended workers
  friend bool operator==(const RemoveWorker&, const RemoveWorker&) = default;
};
// Replaces the whole set of workers that the job holds.
struct SetLeases {
  JobId job;
  std::uint64_t generation = 0;   // greater than the last one
  std::vector<WorkerId> workers;  // ascending
  friend bool operator==(const SetLeases&, const SetLeases&) = default;
};
// Keeps these samples from all workers, as far as they have a place (held_back_samples.h).
struct HoldBack {
  std::vector<wire::BadSample> samples;
  friend bool operator==(const HoldBack&, const HoldBack&) = default;
};
// Gives all samples to workers again.
struct ForgetHeldBack {
  friend bool operator==(const ForgetHeldBack&, const ForgetHeldBack&) = default;
};
// A data set that jobs read or have read; of a compacted journal. Those of `jobs` that run are readers,
// the others have ended.
struct RememberDataset {
  std::uint64_t dataset = 0;
  std::string name;
  std::string tenant;
  std::int64_t rows = 0;
  JobId last;               // that began to read it
  std::vector<JobId> jobs;  // ascending
  bool leaves = false;      // as KnownDataset's
  friend bool operator==(const RememberDataset&, const RememberDataset&) = default;
};
// Keeps what is cached of the data set, at most `bytes` of it; 0: all.
struct PinDataset {
  std::uint64_t dataset = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const PinDataset&, const PinDataset&) = default;
};
struct UnpinDataset {
  std::uint64_t dataset = 0;
  friend bool operator==(const UnpinDataset&, const UnpinDataset&) = default;
};
// The head of a compacted journal: numbers that none of its remaining records would yield.
struct SetCounters {
  std::int64_t next_job = 1;
  std::int64_t next_consumer = 1;
  std::int64_t next_worker = 1;
  double ended_cpu_seconds = 0;
  friend bool operator==(const SetCounters&, const SetCounters&) = default;
};

// The updates from here on are volatile.
struct SeeConsumer {
  JobId job;
  SteadyTime at;
  std::vector<wire::SessionLoad> loads;
  bool has_loads = false;  // false: only a sign of life, without what follows
  std::vector<wire::UnfitWorker> unfit;
  std::vector<wire::BadSample> bad = {};
};
struct SeeWorker {
  WorkerId worker;
  SteadyTime at;
};
struct ReportWorker {
  SteadyTime at;
  wire::WorkerHeartbeat report;
};
// Ends a control period of all jobs: their controllers decide.
struct EndPeriod {
  SteadyTime at;
};
// Says what a job may use from now on, or why it may use nothing. A grant on a worker that the job
// does not lease has no effect.
struct SetGrants {
  JobId job;
  std::map<WorkerId, wire::JobGrant> grants;
  std::string reason;  // empty: admitted
};
// Says why jobs have what they have, by the last plan.
struct ExplainGrants {
  std::vector<std::pair<JobId, GrantWhy>> jobs;  // those for whom something is new
};
struct SuspectWorker {
  WorkerId worker;
  SteadyTime at;
};
// CPU time, from the kernel, of a worker process that has ended.
struct SettleWorkerCpu {
  WorkerId worker;
  double cpu_seconds = 0;
};
// A program asked for a job and found no room. It asks again.
struct AskForRoom {
  wire::HostIdentity program;  // it has a new token each time
  SteadyTime at;
};
// This worker was drained because it was slow for these jobs.
struct CountSlowDrain {
  WorkerId worker;
  std::vector<JobId> jobs;
  SteadyTime at;
};
// Has workers fill the data set while they are idle, until its last job ends.
struct WarmDataset {
  std::uint64_t dataset = 0;
};
// Has these workers give up what the jobs of the data set have in their caches.
struct DropDataset {
  std::uint64_t dataset = 0;
  std::uint64_t number = 0;  // greater than any before
  std::vector<JobId> jobs;
  std::vector<WorkerId> workers;
};
// What each job and worker that fills the cache may take of idle sources, by tenant: bytes/s.
struct SetFillRates {
  std::map<std::string, std::uint64_t> rates;
};
// After a replay, gives everybody a full grace period from `at`.
struct RestartClocks {
  SteadyTime at;
};

using Update =
    std::variant<AddJob, MarkJobLost, ReviveJob, RemoveJob, AddSession, RemoveSession, AddWorker,
                 MarkWorkerLost, ReviveWorker, DrainWorker, RemoveWorker, SetLeases, SetCounters,
                 SeeConsumer, SeeWorker, ReportWorker, EndPeriod, SetGrants, ExplainGrants,
                 SuspectWorker, SettleWorkerCpu, RestartClocks, HoldBack, ForgetHeldBack,
                 AskForRoom, CountSlowDrain, RememberDataset, PinDataset, UnpinDataset, WarmDataset,
                 DropDataset, SetFillRates, RememberJob, OrderJob>;

// Says whether the journal keeps the update.
[[nodiscard]] bool IsDurable(const Update& update);

}  // namespace headrace::coordinator
