#pragma once

#include <span>
#include <vector>

#include "simulate/cluster.h"

// How the hosts' links are shared by the jobs of a simulation. A job's input is made on its own hosts as
// far as their cores suffice; the rest crosses the network. All functions are pure.
namespace headrace::simulate {

// A running job.
struct NetworkUser {
  int gpus = 1;
  coordinator::Terms terms;
  double hit = 0;
  double cores = coordinator::kUnlimited;  // granted
  double pinned_cores = 0;                 // of its own host, for work that stays there
};

// By the links of its own hosts alone: of each, it has a part as of the GPUs.
[[nodiscard]] coordinator::NetworkShare OwnShare(const Cluster& cluster, int gpus);

// With what hosts send, shared by what the jobs can use (FairParts). Hosts of workers send with their whole
// links, and the others with a part as of their cores that their own jobs leave. In the order of `users`.
[[nodiscard]] std::vector<coordinator::NetworkShare> NetworkShares(
    const Cluster& cluster, std::span<const NetworkUser> users);

}  // namespace headrace::simulate
