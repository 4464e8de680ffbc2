#pragma once

#include <cstddef>
#include <cstdint>

#include "base/graph.h"
#include "ops/core/op.h"
#include "trainer_client/draws/draw_planner.h"

namespace headrace::client {

// Estimates how many bytes of a slot a batch takes. The size of what Python code makes is known
// from answers alone. An estimate that is too small costs a second request. Pure. Reactor thread.
class BatchSizes {
 public:
  // `output`: what the chain makes, if the planner does not draw; height 0: unknown. `hint`: bytes
  // of a batch while nothing else is known. The plan outlives this.
  BatchSizes(const Plan& plan, const std::optional<TensorSpec>& output, std::uint64_t hint)
      : plan_(plan), output_(output), hint_(hint) {}

  [[nodiscard]] std::uint64_t Estimate(const PlannedBatch& planned) const;
  // Learns that a batch of `samples` took `bytes`. REQUIRES: samples > 0.
  void Learn(std::uint64_t bytes, std::size_t samples);

 private:
  const Plan& plan_;
  std::optional<TensorSpec> output_;
  std::uint64_t hint_;
  double bytes_per_sample_ = 0;
};

}  // namespace headrace::client
