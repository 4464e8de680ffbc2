#include "net/liveness.h"

namespace headrace::net {

Liveness LivenessAfter(Duration silence, const LivenessLimits& limits) {
  if (silence >= limits.dead_after) return Liveness::kDead;
  if (silence >= limits.suspect_after) return Liveness::kSuspect;
  return Liveness::kAlive;
}

}  // namespace headrace::net
