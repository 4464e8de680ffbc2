#pragma once

#include <string>

#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

// Which workers of a job keep its samples together.
//
//                              together with
//   a name of one host         workers of the host, the user and the release
//   a name of all hosts        if they are worth asking for, workers of any host, user id and release
//                              alike, that other hosts reach; others as above
//
// What a file's content is called holds on one host alone (ContentIdentity), and who may read a file is a
// matter of the user. A worker in a container with a host name of its own is on a host of its own. A local
// worker serves its own host alone, so other hosts do not ask it. All functions are pure.
namespace headrace::coordinator {

// Equal for workers that keep the samples of a job together. `wide`: whether hosts share them (DatasetView).
// Otherwise they are shared if an entry takes `entry_bytes` or more than what the worker shares from. Without
// a partner, or for a worker that does not say its host, it is the worker's own.
[[nodiscard]] std::string CacheHostOf(const wire::WorkerInfo& worker, double entry_bytes,
                                      bool wide);

// Writes into the asker's grant on the job's worker the other workers that it shares with, by id: `peers`,
// and if the grant is wide `wide_peers`. They are those with room for the job's samples, with a lease of the
// job or without, and at most wire::kMaxPeers. A job with more wide workers has several groups of so many.
// In both lists a worker's weight is the size of its cache, not what this job may have of it. So the owner
// of an entry does not depend on quotas, and among the same workers not on the job.
void NamePeers(const State& state, const Job& job, const Worker& asker, wire::JobGrant& grant);

}  // namespace headrace::coordinator
