#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/ids.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Knows which batches of the trainer's own lanes a session has refused. Batches of a lane are asked for
// ahead (docs/adr/0103-short-epochs.md). So when one is refused, later ones may be on their way already,
// and a lane must not make them without it. Each of them is refused, too, until the trainer knows: then
// it asks again, in order. Pure; thread-compatible.
class LaneRefusals {
 public:
  // Whether a batch of the lane before this one was refused, and the trainer may not have known when
  // it asked. A batch that was itself refused after that one is asked again by a trainer that knows.
  [[nodiscard]] bool Bars(const wire::BatchRequest& request) const;
  // Notes that the batch is refused, for whatever reason.
  void Refused(const wire::BatchRequest& request);
  // Notes that the batch is accepted: those before it have been made, or come before it.
  void Accepted(const wire::BatchRequest& request);

  // Lanes, and batches of each, that are remembered: more than a trainer has on their way.
  static constexpr std::size_t kMostLanes = 1024;
  static constexpr std::size_t kMostBatches = 64;

 private:
  struct Lane {
    std::uint64_t set = 0;  // other processes have made nothing
    std::set<std::pair<IterationId, BatchId>> refused;
  };

  // Of the request's set; nullptr: it has none.
  [[nodiscard]] const Lane* Find(const wire::BatchRequest& request) const;

  std::map<LaneId, Lane> lanes_;
};

}  // namespace headrace::dataworker
