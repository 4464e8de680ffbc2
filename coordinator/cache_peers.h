#pragma once

#include <string>
#include <vector>

#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Equal for workers that keep the samples of a job together: those of one host, one user and one
// release, if an entry takes `entry_bytes` or more than what they share from. Otherwise, and for a worker
// that does not say its host, it is the worker's own. Pure.
[[nodiscard]] std::string CacheHostOf(const wire::WorkerInfo& worker, double entry_bytes);

// The other workers of the job that `asker` shares its samples with, by id, at most wire::kMaxPeers.
// They are those with room for the job's samples that run on the same host, for the same user, with the
// same release. What a file's content is called holds on one host alone (ContentIdentity), and who may
// read a file is a matter of the user. A worker in a container with a host name of its own is on a host
// of its own. A worker's weight is the size of its cache, not what this job may have of it. So the owner
// of an entry does not depend on the job, nor on quotas. Pure.
[[nodiscard]] std::vector<wire::CachePeer> CachePeersOf(const State& state, const Job& job,
                                                        const Worker& asker);

}  // namespace headrace::coordinator
