#pragma once

#include <cstdint>

#include "base/ids.h"

namespace headrace::coordinator {

// What kept a job from more cores.
enum class GrantLimit : std::uint8_t {
  kEnough,    // nothing: it has what it asks for
  kPriority,  // jobs of a higher priority come first
  kQuota,     // of its tenant
  kSource,    // the source's bandwidth is used up, so more cores would wait
  kCores,     // cores are used up
};
// Why a job has what it has, by the policy itself.
struct GrantWhy {
  GrantLimit limit = GrantLimit::kEnough;
  double cores = 0;   // that it has
  double wanted = 0;  // that it asks for
  double fair = 0;    // its fair share of them
  double floor = 0;   // part of the fair share that is sure, 0..1; 0: the policy needs no floor
  JobId rival;  // the job that has most, for its GPUs and its tenant's weight, of what is used up
  double rival_cores = 0;  // that it has
  bool preferred = false;  // because the policy likes the rival more
  friend bool operator==(const GrantWhy&, const GrantWhy&) = default;
};

}  // namespace headrace::coordinator
