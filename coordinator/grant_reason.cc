#include "coordinator/grant_reason.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/printed.h"

namespace headrace::coordinator {
namespace {

// With as many digits as a person compares: "0.25", "3.2", "120".
std::string Cores(double cores) {
  return Printed(cores < 0.995 ? "%.2f" : cores < 99.5 ? "%.1f" : "%.0f", cores);
}

std::string NameOf(const State& state, JobId id) {
  const Job* const job = state.FindJob(id);
  return "job " + std::to_string(id.value) + (job == nullptr ? "" : " (" + job->spec.name + ")");
}

std::string TenantOf(const Job& job) {
  return job.spec.tenant.empty() ? "default" : job.spec.tenant;
}

// What the rival has beyond this one: "job 17 (bert) has 2.1 more".
std::string Rival(const State& state, const GrantWhy& why) {
  const double more = why.rival_cores - why.cores;
  // It may have as many, or fewer, and still more for its GPUs.
  if (more < 0.005)
    return NameOf(state, why.rival) + " has " + Cores(why.rival_cores) + " for fewer GPUs";
  return NameOf(state, why.rival) + " has " + Cores(more) + " more";
}

std::string Because(const PlanRules& rules, const GrantWhy& why) {
  if (!why.preferred) return "";
  return " because " + std::string(rules.policy->preference()) + " (`" +
         std::string(rules.policy->name()) + "`)";
}

// The floor, where it is what the job lives on.
std::string FloorText(const GrantWhy& why) {
  if (why.floor <= 0 || std::isinf(why.fair)) return "";
  return "; " + Printed("%.2g", why.floor) + " of its fair share of " + Cores(why.fair) +
         " cores is sure";
}

std::string ReasonText(const PlanRules& rules, const State& state, const Job& job) {
  const GrantWhy& why = job.why;
  if (why.limit == GrantLimit::kEnough) return Cores(why.cores) + " cores: all that it can use";
  std::string text = Cores(why.cores) + " of " + Cores(why.wanted) + " wanted cores: ";
  const bool rival = why.rival.valid();
  switch (why.limit) {
    case GrantLimit::kEnough:
      break;
    case GrantLimit::kPriority: {
      const Job* const first = state.FindJob(why.rival);
      text += rival ? Rival(state, why) : "others have theirs first";
      text += " because of a higher priority";
      if (first != nullptr) {
        text += Printed(" (%d, its own is %d)", first->priority(), job.priority());
      }
      return text;
    }
    case GrantLimit::kQuota:
      text += "the quota of tenant " + TenantOf(job) + " is used up";
      if (rival) text += "; " + Rival(state, why) + Because(rules, why);
      return text + FloorText(why);
    case GrantLimit::kSource:
      text += "the bandwidth of the source is used up";
      if (rival) text += "; " + Rival(state, why) + Because(rules, why);
      return text + FloorText(why);
    case GrantLimit::kCores:
      text += rival ? Rival(state, why) + Because(rules, why)
                    : "there are no more, and no job has more for its GPUs";
      return text + FloorText(why);
  }
  return text;
}

std::string RuleOf(const PlanRules& rules, GrantLimit limit) {
  switch (limit) {
    case GrantLimit::kEnough:
      return "enough";
    case GrantLimit::kPriority:
      return "priority";
    case GrantLimit::kQuota:
      return "quota";
    case GrantLimit::kSource:
      return "source";
    case GrantLimit::kCores:
      return std::string(rules.policy->name());
  }
  return "";
}

// An amount for the wire, where 0 is none.
double Limit(double amount) { return std::isinf(amount) ? 0 : amount; }

}  // namespace

wire::GrantReason ReasonOf(const PlanRules& rules, const State& state, const Job& job) {
  const GrantWhy& why = job.why;
  if (why == GrantWhy{} || !job.waits_for.empty()) return {};
  return {.rule = RuleOf(rules, why.limit),
          .cores = why.cores,
          .wanted_cores = why.wanted,
          .fair_cores = Limit(why.fair),
          .floor = why.floor,
          .rival = why.rival,
          .rival_cores = why.rival_cores,
          .text = ReasonText(rules, state, job)};
}

wire::PolicyRules DescribeRules(const PlanRules& rules) {
  wire::PolicyRules said{.policy = std::string(rules.policy->name()),
                         .source_bytes_per_second = Limit(rules.source_rate),
                         .floor = rules.floor.value_or(-1),
                         .shared_cache_first = rules.shared_cache_first,
                         .tenants = {}};
  for (const Tenant& tenant : rules.tenants) {
    said.tenants.push_back({.name = tenant.name,
                            .weight = tenant.weight,
                            .gpus = Limit(tenant.quota.gpus),
                            .cores = Limit(tenant.quota.cores),
                            .cache_bytes = Limit(tenant.quota.cache_bytes),
                            .source_bytes_per_second = Limit(tenant.quota.source_rate)});
  }
  return said;
}

}  // namespace headrace::coordinator
