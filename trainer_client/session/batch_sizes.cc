#include "trainer_client/session/batch_sizes.h"

#include <algorithm>

#include "trainer_client/session/batch_result.h"

namespace headrace::client {

std::uint64_t BatchSizes::Estimate(const PlannedBatch& planned) const {
  const std::size_t samples = planned.keys.size();
  const auto learnt =
      static_cast<std::uint64_t>(bytes_per_sample_ * static_cast<double>(samples)) + 4096;
  if (plan_.has_python_stage) return bytes_per_sample_ > 0 ? learnt : hint_;
  const std::vector<TensorSpec>& values = planned.values.empty() ? values_ : planned.values;
  const std::uint64_t known = BatchBytes(plan_, samples, values);
  if (bytes_per_sample_ > 0) return std::max(known, learnt);
  return !values.empty() || plan_.chain.empty() ? known : std::max(known, hint_);
}

void BatchSizes::Learn(std::uint64_t bytes, std::size_t samples) {
  bytes_per_sample_ =
      std::max(bytes_per_sample_, static_cast<double>(bytes) / static_cast<double>(samples));
}

}  // namespace headrace::client
