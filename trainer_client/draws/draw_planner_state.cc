// The part of DrawPlanner that says where lanes stand: before and after samples, and between
// batches.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "schemas/wire/data.h"
#include "trainer_client/draws/draw_planner.h"

namespace headrace::client {
namespace {

using ops::TorchGenerator;

constexpr std::size_t kSizeWords = wire::BatchRequest::kSizeWords;

// What the sample there was drawn for.
ops::ImageSpec SpecOf(std::span<const std::int32_t> sizes, std::size_t position) {
  const std::int32_t* words = sizes.subspan(position * kSizeWords, kSizeWords).data();
  ops::ImageSpec spec;
  spec.height = words[0];
  spec.width = words[1];
  spec.channels = words[2];
  return spec;
}

}  // namespace

std::vector<DrawPlanner::Unmade> DrawPlanner::UnmadePositions(std::int64_t batch) const {
  const Record& record = records_.at(batch);
  std::vector<Unmade> unmade;
  for (const Resolved& resolved : record.resolved) {
    unmade.push_back({resolved.position, Code::kUnsupported,
                      resolved.position == record.end ? "it raised when the trainer made it"
                                                      : "no worker can read its size"});
  }
  if (torch() || !options_.native || options_.keys < 0) return unmade;
  for (std::size_t i = 0; i < record.keys.size(); ++i) {
    if (Row(record.keys[i]) < 0) {
      unmade.push_back(
          {static_cast<std::int32_t>(i), Code::kNotFound, "the key is outside of the data set"});
    }
  }
  return unmade;
}

TorchGenerator DrawPlanner::StateBefore(const Record& record, std::int32_t position) const {
  TorchGenerator generator = *record.start;
  std::vector<std::int32_t> params(static_cast<std::size_t>(options_.param_words));
  ops::ImageSpec output;
  for (std::int32_t i = 0; i < position; ++i) {
    const auto resolved =
        std::ranges::find(record.resolved, i, [](const Resolved& r) { return r.position; });
    if (resolved != record.resolved.end()) {
      generator = resolved->after;
      continue;
    }
    // As it was planned, whatever size the image has by now. Drew well before, so draws well.
    (void)options_.draw(SpecOf(record.sizes, static_cast<std::size_t>(i)), generator, params,
                        &output);
  }
  return generator;
}

void DrawPlanner::DescribeState(std::int64_t batch, MissingSample& sample) const {
  const Record& record = records_.at(batch);
  if (torch() && record.start) {
    sample.torch_state = StateBefore(record, sample.position).TorchState();
    if (sample.position != record.end) {
      sample.torch_state_after = StateBefore(record, sample.position + 1).TorchState();
    }
  } else if (!record.seeds.empty()) {
    sample.seed = record.seeds[static_cast<std::size_t>(sample.position)];
  }
}

const std::vector<std::int64_t>& DrawPlanner::keys(std::int64_t batch) const {
  return records_.at(batch).keys;
}

void DrawPlanner::Delivered(std::int64_t batch) {
  const auto at = records_.find(batch);
  HR_CHECK(at != records_.end() && at->second.planned);
  Record& record = at->second;
  Lane& lane = lanes_[static_cast<std::size_t>(record.lane)];
  if (batch > lane.delivered) {
    lane.delivered = batch;
    lane.delivered_draws = record.draws_after;
    lane.resumable = record.resumable;
    lane.delivered_start = std::move(record.start);
  }
  records_.erase(at);
}

Result<std::vector<std::uint64_t>> DrawPlanner::LaneDraws() const {
  std::vector<std::uint64_t> draws;
  if (options_.rng != RngMode::kTorch) return draws;
  if (!options_.native) {
    return Unsupported("lanes that draw in Python have no state that can be resumed by counting");
  }
  for (const Lane& lane : lanes_) {
    if (!lane.resumable) {
      return Unsupported(
          "a sample that was made in the trainer changed its lane's generator by "
          "more than draws; it cannot be resumed by counting");
    }
    draws.push_back(lane.delivered_draws);
  }
  return draws;
}

}  // namespace headrace::client
