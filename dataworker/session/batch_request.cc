#include "dataworker/session/batch_request.h"

#include <algorithm>
#include <string>

namespace headrace::dataworker {

Status CheckRequest(const CompiledPlan& plan, const wire::BatchRequest& request) {
  const std::size_t batch = request.keys.size();
  if (batch == 0) return InvalidArgument("a batch without samples");
  if (plan.rng() == RngMode::kTorch && request.params.size() != batch * plan.param_words()) {
    return InvalidArgument("the batch has " + std::to_string(request.params.size()) +
                           " words of parameters, not " + std::to_string(batch) + " times " +
                           std::to_string(plan.param_words()));
  }
  if (plan.rng() == RngMode::kSample && request.seeds.size() != batch) {
    return InvalidArgument("the batch has " + std::to_string(request.seeds.size()) + " seeds for " +
                           std::to_string(batch) + " samples");
  }
  if (plan.rng() == RngMode::kNone && plan.param_words() > 0) {
    return InvalidArgument("the plan draws, but says that it does not");
  }
  if (!request.specs.empty() && request.specs.size() != batch) {
    return InvalidArgument("the batch has " + std::to_string(request.specs.size()) + " specs for " +
                           std::to_string(batch) + " samples");
  }
  for (const std::int32_t position : request.skip) {
    if (position < 0 || static_cast<std::size_t>(position) >= batch) {
      return InvalidArgument("position " + std::to_string(position) + " is outside of the batch");
    }
  }
  return {};
}

std::vector<std::int32_t> PositionsOf(const wire::BatchRequest& request) {
  std::vector<bool> skipped(request.keys.size());
  for (const std::int32_t position : request.skip) {
    skipped[static_cast<std::size_t>(position)] = true;
  }
  std::vector<std::int32_t> positions;
  positions.reserve(request.keys.size());
  for (std::size_t i = 0; i < skipped.size(); ++i) {
    if (!skipped[i]) positions.push_back(static_cast<std::int32_t>(i));
  }
  return positions;
}

std::optional<Ask> WitnessOf(const wire::BatchRequest& request, std::int32_t position) {
  const auto named = [&](const std::vector<std::int32_t>& positions) {
    return std::ranges::find(positions, position) != positions.end();
  };
  if (!named(request.witness)) return std::nullopt;
  return named(request.witness_whole) ? Ask::kWholeWitness : Ask::kWitness;
}

}  // namespace headrace::dataworker
