#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "coordinator/cluster_planner.h"
#include "coordinator/quotas.h"
#include "coordinator/slow_drain.h"
#include "coordinator/split/splitter.h"
#include "coordinator/state/state.h"
#include "coordinator/state/update.h"
#include "schemas/wire/message.h"

// What the coordinator does, as a pure function: Step(rules, state, event, now) -> decision. The
// wiring (coordinator.h) applies the updates, waits until the durable ones are on disk, then sends.
//
//   job       event                                  next
//   (none)    OpenJob                                running
//   running   OpenJob with its token                 running, same ids
//   running   silent for job_lost_after              lost; its leases are free
//   lost      heartbeat, or OpenJob with its token   running
//   lost      silent for forget_after                (none)
//   any       CloseJob                               (none)
//   (none)    heartbeat, OpenSession                 NotFound: the client opens the job again
//
//   worker    event                                  next
//   (none)    RegisterWorker                         ready
//   ready     RegisterWorker with its token          ready, same id
//   ready     silent for worker_lost_after           lost; leases that name it go
//   ready     suspected and silent for suspect_after lost
//   ready     its process ended                      lost
//   lost      heartbeat, or RegisterWorker           ready
//   lost      silent for forget_after                (none)
//   any       Drain                                  draining: no leases, finishes what was asked
//   ready     end of a period, slow for its jobs     draining (slow_drain.h)
//   any       LeaveWorker                            draining
//   draining  LeaveWorker                            (none): it has ended
//   (none)    heartbeat                              NotFound: the worker registers again
//
// Silence counts only while the coordinator itself ticks.
//
// The cluster is planned (cluster_planner.h) after any change of jobs or workers, and each control
// period (the heartbeat). The coordinator tells at once each job whose set of leases changed, and
// each worker of which a grant changed. In a large cluster, changes wait for the end of the period.
namespace headrace::coordinator {

struct Rules {
  Duration heartbeat = std::chrono::seconds(1);
  Duration worker_lost_after = std::chrono::seconds(5);
  Duration suspect_after = std::chrono::milliseconds(1500);  // silence of a suspected worker
  Duration job_lost_after = std::chrono::seconds(10);
  Duration forget_after = std::chrono::minutes(10);
  PlanRules plan;
  SlowRules slow;
  NativeCheck native_check;
  Quotas quotas;
  std::string version;  // this release
};

struct Moment {
  SteadyTime steady;
  std::int64_t wall_ms = 0;
  double own_cpu_seconds = 0;         // CPU of the coordinator process
  std::uint32_t desired_workers = 0;  // of its pools
  double next_core_price = 0;  // of the pool that the next worker would come from; 0: not known
};

// A verified message. A reply goes to `peer`.
struct PeerMessage {
  std::string peer;
  wire::Body body;
};
// Time passed.
struct Tick {};
// The kernel says that a worker's process has ended. cpu_seconds: all that it used; 0: unknown.
struct WorkerEnded {
  WorkerId worker;
  double cpu_seconds = 0;
};
// The pool wants this worker to finish and leave.
struct Drain {
  WorkerId worker;
};
using Event = std::variant<PeerMessage, Tick, WorkerEnded, Drain>;

struct Reply {
  std::string peer;
  wire::Body body;
};
// A message that nobody asked for. It goes to the peer that speaks for the job or worker.
struct Push {
  std::variant<JobId, WorkerId> to;
  wire::Body body;
};
// Asks the kernel or the pool whether this worker's process still runs.
struct VerifyWorker {
  WorkerId worker;
};
struct Decision {
  std::vector<Update> updates;  // in order
  std::vector<Reply> replies;
  std::vector<Push> pushes;
  std::vector<VerifyWorker> verify;
  std::vector<std::string> warnings;   // for the log
  Status refused;                      // why a message was not heeded, if the log should say it
  std::optional<double> demand_cores;  // for all jobs, if they were planned
  std::vector<double> dearer_demand_cores;  // see ClusterPlan
};

// Never fails: a peer's mistake becomes a reply with a Status. REQUIRES: rules.plan.policy.
[[nodiscard]] Decision Step(const Rules& rules, const State& state, const Event& event,
                            const Moment& now);

// What `headrace jobs|workers|top` show. A query with a job and its token gets that job's passes, too.
[[nodiscard]] wire::ClusterStatus DescribeCluster(const Rules& rules, const State& state,
                                                  const wire::StatusQuery& query,
                                                  const Moment& now);

}  // namespace headrace::coordinator
