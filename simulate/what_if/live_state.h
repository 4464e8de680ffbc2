#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schemas/wire/control.h"
#include "simulate/cluster.h"
#include "simulate/job.h"
#include "simulate/start.h"

// The state of a cluster at a moment, from which a simulation can go on: one value, which is written and read
// as JSON (docs/howto/ask-what-if.md).
namespace headrace::simulate {

// For people: the simulation adds them up (LiveState::cluster).
struct LiveWorker {
  std::string name;
  double cores = 0;
  double cache_bytes = 0;
  double link_bytes_per_second = 0;  // 0: not known
  friend bool operator==(const LiveWorker&, const LiveWorker&) = default;
};

struct LiveState {
  std::string policy = "utilization";  // that decides there
  Cluster cluster;
  Trace trace;  // jobs whose remaining work is not known have infinite iterations
  Start start;  // of as many jobs and data sets
  std::vector<LiveWorker> workers;
  // Jobs that run and are left out, since nothing is measured of them yet: for people.
  std::vector<std::string> unmeasured;
};

[[nodiscard]] std::string LiveStateJson(const LiveState& state);
// Takes what LiveStateJson writes; fields that are missing have their
// defaults, but a job says its `iterations` and `step_s`, and a data set its `bytes`. `file`: for errors.
// kInvalidArgument: it is not a state; the message names the file, the field and what was expected.
[[nodiscard]] Result<LiveState> ReadLiveState(std::string_view file, std::string_view text);

// What a coordinator says of its cluster, as one pool of cores: neither hosts nor links count. Ranks of one
// program are one job with as many GPUs. A job's name is its number; of several ranks, the least.
// kUnavailable: no job runs, or nothing is measured of any; kUnimplemented: the coordinator's release does not say
// what is needed.
[[nodiscard]] Result<LiveState> LiveStateOf(const wire::ClusterStatus& status);

// The name in LiveStateOf of the program that a job is a rank of; the word itself if there is no such job.
[[nodiscard]] std::string ProgramOf(const wire::ClusterStatus& status, const std::string& job);

// Leaves out the jobs that have ended.
[[nodiscard]] LiveState WithoutEnded(const LiveState& state);

}  // namespace headrace::simulate
