#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/graph.h"
#include "ops/core/op.h"
#include "trainer_client/draws/draw_planner.h"

namespace headrace::client {

// Estimates how many bytes of a slot a batch takes. The size of what Python code makes is known
// from answers alone. An estimate that is too small costs a second request. Pure. Reactor thread.
class BatchSizes {
 public:
  // `values`: of a sample, if the planner does not draw; empty: unknown. `hint`: bytes of a batch
  // while nothing else is known. The plan outlives this.
  BatchSizes(const Plan& plan, std::vector<TensorSpec> values, std::uint64_t hint)
      : plan_(plan), values_(std::move(values)), hint_(hint) {}

  [[nodiscard]] std::uint64_t Estimate(const PlannedBatch& planned) const;
  // Learns that a batch of `samples` took `bytes`. REQUIRES: samples > 0.
  void Learn(std::uint64_t bytes, std::size_t samples);

 private:
  const Plan& plan_;
  std::vector<TensorSpec> values_;
  std::uint64_t hint_;
  double bytes_per_sample_ = 0;
};

}  // namespace headrace::client
