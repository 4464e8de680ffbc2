#pragma once

#include <cstddef>
#include <cstdint>

#include "base/graph.h"
#include "ops/core/op.h"
#include "trainer_client/draws/draw_planner.h"

namespace headrace::client {

// How many bytes of a slot a batch takes. What Python code makes can only be learnt from its
// answers. An estimate that is too small costs a second request. Pure. Reactor thread.
class BatchSizes {
 public:
  // `output`: what the chain makes, where the planner does not draw; height 0: unknown. `hint`: of
  // a batch, while nothing else is known. The plan outlives this.
  BatchSizes(const Plan& plan, const ops::ImageSpec& output, std::uint64_t hint)
      : plan_(plan), output_(output), hint_(hint) {}

  [[nodiscard]] std::uint64_t Estimate(const PlannedBatch& planned) const;
  // A batch of `samples` took so many bytes. REQUIRES: samples > 0.
  void Learn(std::uint64_t bytes, std::size_t samples);

 private:
  const Plan& plan_;
  ops::ImageSpec output_;
  std::uint64_t hint_;
  double bytes_per_sample_ = 0;
};

}  // namespace headrace::client
