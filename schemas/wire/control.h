#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/graph.h"
#include "base/ids.h"
#include "base/metric.h"
#include "base/result.h"
#include "schemas/wire/datasets.h"
#include "schemas/wire/decisions.h"
#include "schemas/wire/pools.h"
#include "schemas/wire/tiers.h"

// Control-plane messages, as in schemas/fbs/control.fbs.in. This file is long because it has all of them.
//   client -> coordinator  OpenJob, OpenSession, ConsumerHeartbeat, CloseSession, CloseJob
//   worker -> coordinator  RegisterWorker, WorkerHeartbeat, LeaveWorker
//   cli    -> coordinator  StatusQuery
// Every request carries `request`, which the reply repeats. A request may be repeated: all are
// idempotent. When a lease changes, Leases and WorkerDirective also come without a request, with
// request 0. Both hold whole sets. Of the Leases of one JobId, the highest generation is valid.
namespace headrace::wire {

// Two processes are on the same host if boot_id and uid are equal (then the arena socket is tried).
struct HostIdentity {
  std::string hostname;
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  std::uint32_t uid = 0;
  std::int64_t pid = 0;
  friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

// A job that leaves the size of its cache to the coordinator's policy.
inline constexpr std::uint64_t kNoCacheBound = ~std::uint64_t{0};

struct OpenJob {
  std::uint64_t request = 0;
  std::string token;  // 128 random bits in hex, made by the client: a repeat of the same job is the
                      // same job
  std::string name;   // for people: "train.py"
  HostIdentity host;
  std::string version;                      // client's release, "0.1.0"
  std::int32_t wanted_workers = 0;          // 0: as many as there are
  std::uint64_t cache_bytes = 0;            // at most, on each worker; 0: no cache; kNoCacheBound
  std::string tenant;                       // its quota and weight count; empty: the default tenant
  std::int32_t priority = 0;                // a higher one is served first
  std::string group;                        // ranks of one program have the same; empty: alone
  std::int32_t rank = -1;                   // in the group; -1: not known
  std::uint64_t link_bytes_per_second = 0;  // of its host's network, each way; 0: no limit is known
  std::string rack;                         // hosts of one rack have the same; empty: not known
  friend bool operator==(const OpenJob&, const OpenJob&) = default;
};
struct JobOpened {
  std::uint64_t request = 0;
  Status status;
  JobId job;
  ConsumerId consumer;
  std::uint32_t heartbeat_ms = 1000;
  friend bool operator==(const JobOpened&, const JobOpened&) = default;
};

struct OpenSession {
  std::uint64_t request = 0;
  JobId job;
  SessionId session;
  Plan plan;
  std::string token;  // the job's, as in what follows from a client
  // One a leaf: equal for the same files by whatever path; 0: not known. It is for accounts alone: data sets
  // of the same files have one quota.
  std::vector<std::uint64_t> files;
  bool warm = false;  // workers fill its data set while they are idle
  friend bool operator==(const OpenSession&, const OpenSession&) = default;
};
// How the splitter cut the plan. All nodes run on workers, but the trainer may finish a chain's tail.
struct Split {  // NOLINT(clang-analyzer-core.uninitialized.Assign): see .clang-tidy
  std::int32_t worker_nodes = 0;  // the length of the chain
  std::int32_t cache_node = 0;    // the cache point follows this many nodes; 0: encoded bytes only
  // From this node on, a receiver of the values before it may finish a sample (ops/core/finisher.h);
  // 0: it may not.
  std::int32_t tail_node = 0;
  friend bool operator==(const Split&, const Split&) = default;
};
// A sample that is not made like the others. Workers were lost with it, or the program goes on without
// it.
struct BadSample {
  std::uint64_t data_set = 0;  // DataSetOf its plan; 0: of the program's own code
  std::int64_t row = -1;       // in the data set; with data_set 0, the sampler's index
  std::string name;            // its file, for people; empty: it has none that is known
  std::string cause;           // for people
  std::uint64_t times = 0;     // how often the client met it
  bool held_back = false;      // no worker is given it
  friend bool operator==(const BadSample&, const BadSample&) = default;
};
struct SessionOpened {
  std::uint64_t request = 0;
  Status status;
  Split split;
  std::vector<BadSample> held_back;  // of the plan's data set
  friend bool operator==(const SessionOpened&, const SessionOpened&) = default;
};

struct WorkerInfo {
  WorkerId worker;
  std::vector<std::string> endpoints;  // ZeroMQ addresses of the data socket, best first
  std::string arena_path;              // AF_UNIX path for descriptors; empty: none
  HostIdentity host;
  std::int32_t cores = 1;
  std::string version;
  std::uint64_t cache_bytes = 0;  // budget of its cache, all tiers together
  bool local = false;             // serves trainers of its own host and user alone
  std::vector<TierBytes> tiers;   // budgets; none: an older worker, with one of cache_bytes
  std::string pass;  // set by the coordinator for one job's trainer (base/pass/pass.h); empty: none
  std::uint64_t share_from_bytes = std::uint64_t{64}
                                   << 10;   // jobs with smaller cache entries share
                                            // none with peers
  std::uint32_t millicores = 0;             // CPU time that it may use; 0: all of `cores`
  std::uint64_t link_bytes_per_second = 0;  // of its host's network, each way; 0: no limit is known
  std::string rack;                         // hosts of one rack have the same; empty: not known
  std::string member;  // what its pool calls it (PoolMember::handle); empty: no pool started it
  // Cores' worth of CPU time. A container may have a part of one.
  [[nodiscard]] double usable_cores() const {
    return millicores > 0 ? std::min<double>(cores, millicores / 1000.0) : cores;
  }
  friend bool operator==(const WorkerInfo&, const WorkerInfo&) = default;
};

// What one loader has measured since its session began. The causes of a wait add up to stall_ns.
struct SessionLoad {
  SessionId session;
  HEADRACE_SESSION_METRICS(HEADRACE_METRIC_MEMBER);
  HEADRACE_LOAD_METRICS(HEADRACE_METRIC_MEMBER);
  HEADRACE_BATCH_METRICS(HEADRACE_METRIC_TOTAL);
  bool idle_known = false;      // idle_ns was measured
  std::vector<TierHits> tiers;  // by tier, for the batches that were delivered
  // That the program will still take of it, later epochs included; -1: not known.
  std::int64_t remaining_samples = -1;
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = SessionLoad;
    HEADRACE_SESSION_METRICS(HEADRACE_METRIC_VISIT);
    HEADRACE_LOAD_METRICS(HEADRACE_METRIC_VISIT);
    HEADRACE_BATCH_METRICS(HEADRACE_METRIC_VISIT_OF_BATCH);
  }
  friend bool operator==(const SessionLoad&, const SessionLoad&) = default;
};
// A worker that a client takes nothing from, or as little as it can.
struct UnfitWorker {
  WorkerId worker;
  std::string reason;  // for people
  bool slow = false;   // its loaders let it rest: much slower than its peers, again and again
  friend bool operator==(const UnfitWorker&, const UnfitWorker&) = default;
};
struct ConsumerHeartbeat {
  std::uint64_t request = 0;
  JobId job;
  ConsumerId consumer;
  std::vector<SessionLoad> sessions;
  std::vector<WorkerId> suspected;  // workers that this client found dead or mute
  std::string token;
  std::vector<UnfitWorker> unfit;
  std::vector<BadSample> bad;
  std::vector<std::uint64_t> data_sets;  // of its native loaders, as in BadSample
  friend bool operator==(const ConsumerHeartbeat&, const ConsumerHeartbeat&) = default;
};
// The whole set of leases that should hold now (reconciled, not deltas).
struct Leases {
  std::uint64_t request = 0;
  Status status;  // kNotFound: the coordinator does not know this job (it restarted): open it again
  JobId job;
  std::uint64_t generation = 0;  // grows with every change
  std::vector<WorkerInfo> workers;
  std::vector<BadSample> held_back;  // of the client's data sets
  friend bool operator==(const Leases&, const Leases&) = default;
};
struct CloseSession {
  JobId job;
  SessionId session;
  std::string token;
  friend bool operator==(const CloseSession&, const CloseSession&) = default;
};
struct CloseJob {
  JobId job;
  std::string token;
  friend bool operator==(const CloseJob&, const CloseJob&) = default;
};

struct RegisterWorker {
  std::uint64_t request = 0;
  std::string token;  // random, made at start: a repeat is the same worker
  WorkerInfo info;    // info.worker is not set yet
  friend bool operator==(const RegisterWorker&, const RegisterWorker&) = default;
};
struct WorkerRegistered {
  std::uint64_t request = 0;
  Status status;
  WorkerId worker;
  std::uint32_t heartbeat_ms = 1000;
  friend bool operator==(const WorkerRegistered&, const WorkerRegistered&) = default;
};
// The most names in a sample of entries, and in all of a message; more are refused.
inline constexpr std::size_t kMaxSampledNames = 256;
inline constexpr std::size_t kMaxSampledOfWorker = std::size_t{1} << 20;
// What one job has used of a worker since the worker's start.
struct JobUsage {
  JobId job;
  HEADRACE_USAGE_METRICS(HEADRACE_METRIC_MEMBER);
  std::vector<TierUse> tiers;
  // Names of entries in the cache, all those below the bound (dataworker/cache/entry_sample.h). 0: none are
  // told this time, and those before hold.
  std::uint64_t sampled_below = 0;
  std::vector<std::uint64_t> sampled;
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = JobUsage;
    HEADRACE_USAGE_METRICS(HEADRACE_METRIC_VISIT);
  }
  friend bool operator==(const JobUsage&, const JobUsage&) = default;
};
// The most jobs or usages that a message may name; more is refused.
inline constexpr std::size_t kMaxJobsOfWorker = 65536;
struct WorkerHeartbeat {
  std::uint64_t request = 0;
  WorkerId worker;
  HEADRACE_WORKER_METRICS(HEADRACE_METRIC_MEMBER);
  std::vector<JobId> jobs;      // jobs with an attached session
  std::vector<JobUsage> usage;  // those, and jobs with entries in the cache
  std::vector<TierUse> tiers;
  std::string token;          // the worker's
  std::uint64_t dropped = 0;  // number of the last DropOrder that is done
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = WorkerHeartbeat;
    HEADRACE_WORKER_METRICS(HEADRACE_METRIC_VISIT);
  }
  friend bool operator==(const WorkerHeartbeat&, const WorkerHeartbeat&) = default;
};
// The most peers of a grant; more is refused.
inline constexpr std::size_t kMaxPeers = 256;
// Another worker that keeps a part of a job's samples.
struct CachePeer {
  WorkerId worker;
  std::string endpoint;           // of its data socket
  std::uint64_t cache_bytes = 0;  // of its whole cache: the weight of its part
  std::string pass;               // the receiver's for that worker and job (base/pass/pass.h)
  friend bool operator==(const CachePeer&, const CachePeer&) = default;
};
// What one job may use of a worker. Without millicores it is of cache alone: the job has no lease there,
// and the workers that have one keep a part of its samples there.
struct JobGrant {
  JobId job;
  std::uint32_t millicores = 0;               // share of the worker's cores; 1000: one core
  std::uint64_t cache_bytes = 0;              // most bytes for its entries in the cache
  std::uint64_t source_bytes_per_second = 0;  // 0: no limit
  std::vector<TierBytes> tiers;               // quotas; none: the worker divides cache_bytes
  std::vector<CachePeer> peers;               // that the receiver may share the job's samples with
  bool cache_encoded = false;  // keep encoded bytes, not the output at the cache point
  // True: entries with a name that holds on all hosts are shared with `wide_peers`, and not with `peers`.
  bool wide = false;
  std::vector<CachePeer> wide_peers;
  // Jobs with the same one have their cache quotas on the worker together; 0: with none.
  std::uint64_t data_set = 0;
  // Keep the output after so many nodes, which all jobs of the data set have; 0: at the plan's cache point.
  std::int32_t cache_nodes = 0;
  // Keep copies of what is fetched from `wide_peers`, in room that nothing else wants.
  bool replicas = false;
  // The job has no session open. What it keeps stays as what an ended job has left: nothing is added, and whoever
  // needs the room takes it. `cache_bytes` is 0.
  bool idle = false;
  friend bool operator==(const JobGrant&, const JobGrant&) = default;
};
// What the job has in the worker's cache stays there, also after the job's end.
struct KeptJob {
  JobId job;
  std::uint64_t bytes = kNoCacheBound;  // at most, once the job has ended
  friend bool operator==(const KeptJob&, const KeptJob&) = default;
};
// The worker gives up all that these jobs have in its cache, once.
struct DropOrder {
  std::uint64_t number = 0;  // grows with each order
  std::vector<JobId> jobs;
  friend bool operator==(const DropOrder&, const DropOrder&) = default;
};
// The most orders of a directive; more is refused.
inline constexpr std::size_t kMaxDropOrders = 64;
// The worker caches samples of the job that nobody asked for, while it is idle.
struct FillOrder {
  JobId job;
  std::uint64_t bytes_per_second = 0;  // of the source; kNoBound: no bound
  std::uint32_t part = 0, parts = 1;   // this worker's of the samples; part < parts
  static constexpr std::uint64_t kNoBound = ~std::uint64_t{0};
  friend bool operator==(const FillOrder&, const FillOrder&) = default;
};
struct WorkerDirective {
  std::uint64_t request = 0;
  Status status;  // kNotFound: register again
  bool drain = false;
  std::vector<JobId> jobs;  // leases that should hold now
  // One for each job in `jobs`, and those of cache alone. Empty with jobs: equal shares, no limits, the cache quota of
  // Attach.
  std::vector<JobGrant> grants;
  std::vector<KeptJob> kept;     // the whole set
  std::vector<DropOrder> drops;  // that this worker has not done yet, ascending
  std::vector<FillOrder> fills;  // the whole set
  friend bool operator==(const WorkerDirective&, const WorkerDirective&) = default;
};
struct LeaveWorker {
  WorkerId worker;
  std::string token;  // the worker's
  friend bool operator==(const LeaveWorker&, const LeaveWorker&) = default;
};

struct StatusQuery {
  std::uint64_t request = 0;
  // Of a client that asks for the passes of workers, its job; of others none.
  JobId job;
  std::string token;
  JobId whole;         // job of which all is wanted, with the ranks of its group
  bool ended = false;  // jobs that have ended are wanted, too
  friend bool operator==(const StatusQuery&, const StatusQuery&) = default;
};
// What a job had and used since it began. Of a job that was there before its coordinator: at least what its
// loaders count.
struct JobTotals {
  HEADRACE_JOB_TOTALS(HEADRACE_METRIC_MEMBER);
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = JobTotals;
    HEADRACE_JOB_TOTALS(HEADRACE_METRIC_VISIT);
  }
  friend bool operator==(const JobTotals&, const JobTotals&) = default;
};
// A job that is no more.
struct EndedJob {
  JobId job;
  std::string name;
  std::string hostname;
  std::int64_t pid = 0;
  std::string tenant;
  std::string group;
  std::int32_t rank = -1;
  std::int64_t opened_ms = 0, ended_ms = 0;  // wall clock
  std::string end;                           // for people: "ended", "lost"
  JobTotals totals;
  friend bool operator==(const EndedJob&, const EndedJob&) = default;
};
// The most of a message; more is refused.
inline constexpr std::size_t kMaxEndedJobs = 1 << 16;
struct JobStatus {
  JobId job;
  std::string name;
  std::string hostname;
  std::int64_t pid = 0;
  std::string state;           // "running", "waiting: no worker", "lost"
  std::int64_t opened_ms = 0;  // wall clock
  std::vector<SessionLoad> sessions;
  std::vector<WorkerId> workers;
  std::string tenant;
  std::int32_t priority = 0;
  std::string group;
  std::int32_t rank = -1;
  HEADRACE_JOB_METRICS(HEADRACE_METRIC_MEMBER);
  std::string advice;              // for people: what it waits for, and what would change that
  std::vector<UnfitWorker> unfit;  // for one of its loaders
  std::vector<BadSample> bad;      // all of them if StatusQuery says `whole`, else the last few
  std::uint32_t bad_known = 0;  // how many there are; an older coordinator says 0, and all of them
  std::int64_t remaining_samples = -1;  // that its trainer will still take; -1: not known
  JobTotals totals;
  JobNeed need;
  GrantReason why;
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = JobStatus;
    HEADRACE_JOB_METRICS(HEADRACE_METRIC_VISIT);
  }
  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};
struct WorkerStatus {
  WorkerInfo info;
  std::string state;  // "ready", "draining", "lost"
  WorkerHeartbeat last;
  std::int64_t silent_ms = 0;   // since its last message
  std::string reason;           // for people: why it is drained, or who calls it slow
  std::vector<JobId> slow_for;  // jobs that call it slow
  double speed = 1;             // of its cores, as measured; of a mean one
  friend bool operator==(const WorkerStatus&, const WorkerStatus&) = default;
};
struct ClusterStatus {
  std::uint64_t request = 0;
  Status status;
  std::string version;
  std::int64_t wall_ms = 0;
  HEADRACE_CLUSTER_METRICS(HEADRACE_METRIC_MEMBER);
  std::vector<JobStatus> jobs;
  std::vector<WorkerStatus> workers;
  std::vector<DatasetStatus> datasets;
  std::vector<EndedJob> ended;  // if StatusQuery says so: the last one first
  PolicyRules rules;
  std::vector<PoolStatus> pools;  // in the order of preference; of an older coordinator none
  template <typename Visit>
  static void EachMetric(Visit&& visit) {
    using Self = ClusterStatus;
    HEADRACE_CLUSTER_METRICS(HEADRACE_METRIC_VISIT);
  }
  friend bool operator==(const ClusterStatus&, const ClusterStatus&) = default;
};

// What shall be done with jobs or workers, by the word of a person.
enum class ClusterAction : std::uint8_t { kUnknown, kDrain, kCancel, kResume, kSetPriority };
// The most workers of an order; more is refused.
inline constexpr std::size_t kMaxOrderedWorkers = 1 << 16;
struct ClusterOrder {
  std::uint64_t request = 0;
  ClusterAction action = ClusterAction::kUnknown;
  std::vector<WorkerId> workers;  // to drain
  JobId job;                      // to cancel, to resume, or that gets a priority; with its ranks
  std::int32_t priority = 0;
  friend bool operator==(const ClusterOrder&, const ClusterOrder&) = default;
};
struct ClusterOrdered {
  std::uint64_t request = 0;
  Status status;
  std::string text;  // for people: what was done
  friend bool operator==(const ClusterOrdered&, const ClusterOrdered&) = default;
};

}  // namespace headrace::wire
