#pragma once

#include "coordinator/cluster_planner.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Says, for people and for programs, why a job has the cores that it has: what the policy itself said when
// they were granted (Job::why). Empty: it is not admitted, or nothing was decided yet. Pure.
// REQUIRES: rules.policy.
[[nodiscard]] wire::GrantReason ReasonOf(const PlanRules& rules, const State& state,
                                         const Job& job);

// How the coordinator decides, for those who want to decide the same elsewhere.
[[nodiscard]] wire::PolicyRules DescribeRules(const PlanRules& rules);

}  // namespace headrace::coordinator
