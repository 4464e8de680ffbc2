#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "coordinator/dataset_view.h"
#include "coordinator/divide_caches.h"
#include "coordinator/policy/core/policy.h"

namespace headrace::coordinator {

// Says in grants which jobs' workers keep copies of what they fetch from each other over hosts
// (JobGrant::replicas). They do where all of this is so:
//
//   the workers of several hosts share the data set, and find most of what they read
//   their questions take much of their cores (WorthReplicas)
//   every data set has the room that it can use. So there is room that nobody is planned for
//   no bound of a program, a tenant or a data set holds: a copy counts in no quota
//
// What copies take is room of nobody's, whatever this says: workers see to that (ReplicaShelf). This is about
// not copying in vain. Pure; as DivideCaches, whose grants `users` have.
void GrantReplicas(const std::map<std::uint64_t, DatasetView>& views,
                   std::span<const Dataset> datasets, std::span<const double> quotas,
                   std::span<const CacheUser> users);

}  // namespace headrace::coordinator
