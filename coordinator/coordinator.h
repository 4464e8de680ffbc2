#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/process/stats.h"
#include "base/result.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/core/pool_watch.h"
#include "coordinator/pool_report.h"
#include "coordinator/pool_wish.h"
#include "coordinator/state/journal.h"
#include "coordinator/step.h"
#include "net/reactor.h"
#include "schemas/wire/host_identity.h"

namespace headrace::coordinator {

struct CoordinatorOptions {
  std::string listen = "tcp://127.0.0.1:7070";
  // Allows `listen` to be an address that other hosts reach though no keys keep strangers out.
  bool insecure = false;
  std::string state_dir;  // directory of the journal; empty: a restart starts from nothing
  // True: another coordinator may later use this address. Peers of this one may come to it, so its
  // ids must differ from ours. False when embedded.
  bool may_be_followed = true;
  // If set, opens the journal; `state_dir` is then ignored.
  std::function<Result<Journal::Opened>(Journal::OnFailure)> open_journal;
  bool forget_bad_samples = false;  // starts with no sample held back, whatever the journal says
  SlowRules slow = {};
  std::string policy = "utilization";
  std::vector<Tenant> tenants;                  // see PlanRules
  std::map<std::string, double> dataset_bytes;  // see PlanRules
  std::optional<double> floor;                  // see PlanRules
  bool shared_cache_first = false;              // the same
  HourPrices prices;                            // see PlanRules
  bool replicas = true;                         // see PlanRules
  double source_rate = kUnlimited;              // bytes/s, of all sources together
  bool lease_all = false;                       // see PlanRules
  std::vector<PoolWish> pools =
      std::vector<PoolWish>(1);  // at least one; in the order of preference
  PoolFactory make_pool;         // if set, makes all pools; their kinds are then ignored
  std::int32_t workers = 0;      // workers that the pools start at once, and keep
  std::int32_t most_workers =
      0;  // most workers of all pools; not above `workers`: they do not grow
  std::int32_t on_demand_at_least = 0;              // see PoolChoice
  Duration room_within = std::chrono::seconds(60);  // likewise
  double worker_cores = 1;                          // cores of one worker, where no pool says
  PoolPatience pool_patience = {};
  // Name or address of this host for workers of the pool; empty: they are beside the coordinator.
  std::string advertise;
  // Makes the command line of a worker of a pool from the coordinator's endpoint as seen from the
  // worker's host.
  std::function<std::vector<std::string>(const PoolWish& pool, const std::string& endpoint)>
      worker_command;
  Quotas quotas = {};
  Duration heartbeat = std::chrono::seconds(1);
  std::int32_t worker_beats = 5;  // missed by a worker before it is lost
  std::int32_t job_beats = 10;    // missed by a job's client before it is lost
  // Of the coordinator's own process. A simulation gives others.
  wire::HostIdentity host = wire::ReadHostIdentity();
  std::function<double()> cpu_seconds = OwnCpuSeconds;
  // Says that the coordinator cannot go on (its journal cannot be written). Called once, on the
  // reactor thread.
  std::function<void(const Status&)> on_failure;
};

// The coordinator process: connects one ROUTER socket, State, journal, policy and pool. It decides
// nothing itself (step.h does). It tells nobody anything that is not yet durable. Reactor thread
// only, or before the reactor runs; destroyed there or after the reactor has stopped.
class Coordinator {
 public:
  // kInvalidArgument: other hosts reach the address, and nobody has allowed that.
  // kUnavailable: the address is taken, or the journal belongs to another. kDataLoss: the journal
  // is damaged. kNotFound: no such policy, pool or worker program.
  static Result<std::unique_ptr<Coordinator>> Make(net::Reactor& reactor,
                                                   CoordinatorOptions options);
  virtual ~Coordinator() = default;

  // The address where it listens. The port is the real one, even if it was asked to choose one.
  [[nodiscard]] virtual const std::string& endpoint() const = 0;
  // What it knows.
  [[nodiscard]] virtual const State& state() const = 0;
  // What `headrace top` shows of it.
  [[nodiscard]] virtual wire::ClusterStatus Describe() const = 0;
  [[nodiscard]] virtual PoolReport DescribePool() const = 0;
  // Lets the worker finish what it was asked and leave. The pool does not replace it. kNotFound: no
  // such worker.
  virtual Status Drain(WorkerId worker) = 0;
  // As if the order had come from an admin: calls back once what it did is durable, on the reactor's thread, or
  // never if the coordinator ends first.
  virtual void Order(const wire::ClusterOrder& order,
                     std::function<void(wire::ClusterOrdered)> answer) = 0;
  // Ends the pool's workers and the journal. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace headrace::coordinator
