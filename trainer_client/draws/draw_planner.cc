#include "trainer_client/draws/draw_planner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "ops/core/chain.h"

namespace headrace::client {

using ops::Generators;

DrawPlanner::DrawPlanner(Options options) : options_(std::move(options)) {
  HR_CHECK(options_.lanes >= 1);
  lanes_.resize(static_cast<std::size_t>(options_.lanes));
}

Status DrawPlanner::Begin(const IterationOptions& iteration) {
  const std::size_t generators = lanes_.size() * GeneratorsOfLane();
  for (const auto* of_lanes : {&iteration.lane_draws, &iteration.lane_seeds}) {
    if (of_lanes->empty() || of_lanes->size() == generators) continue;
    return InvalidArgument("state of " + std::to_string(of_lanes->size()) +
                           " generators of lanes for a loader with " + std::to_string(generators));
  }
  const bool from_states = torch() && !iteration.lane_states.empty();
  std::vector<Generators> begins(from_states ? lanes_.size() : 0,
                                 Generators(0, options_.with_python, options_.with_numpy));
  if (from_states && iteration.lane_states.size() != begins.size()) {
    return InvalidArgument("states of " + std::to_string(iteration.lane_states.size()) +
                           " lanes for a loader with " + std::to_string(lanes_.size()));
  }
  for (std::size_t i = 0; i < begins.size(); ++i) {
    HR_RETURN_IF_ERROR(begins[i].SetState(iteration.lane_states[i]));
  }
  tell_states_ = from_states;
  const bool go_on = iteration.continue_lanes && begun_;
  begun_ = true;
  base_seed_ = iteration.base_seed;
  next_batch_ = iteration.first_batch;
  occurrences_.Clear();
  ready_.clear();
  needed_.clear();
  if (go_on) {
    // Draws all submitted batches to the end, as stock workers finish what they were sent.
    std::unordered_map<std::int64_t, Record> ghosts;
    for (Lane& lane : lanes_) {
      lane.wait = Wait::kNothing;
      for (std::int64_t& batch : lane.waiting) {
        auto node = records_.extract(batch);
        node.key() = batch = --ghosts_;
        node.mapped().ghost = true;
        ghosts.insert(std::move(node));
      }
    }
    records_ = std::move(ghosts);
  } else {
    records_.clear();
    for (std::int64_t key : unknown_) asked_.erase(key);
    unknown_.clear();
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (!go_on) {
      lane = Lane();
      if (from_states) {
        lane.generator.Begin(begins[i]);
      } else if (torch()) {
        lane.generator.Begin(Seeded(iteration, i));
      }
    }
    lane.generator.Begin();
    Advance(lane);
  }
  return Status::Ok();
}

std::size_t DrawPlanner::GeneratorsOfLane() const {
  return 1U + (options_.with_python ? 1U : 0U) + (options_.with_numpy ? 1U : 0U);
}

Generators DrawPlanner::Seeded(const IterationOptions& iteration, std::size_t lane) const {
  const auto seed = [&](std::size_t i) {
    return iteration.lane_seeds.empty() ? iteration.base_seed + lane : iteration.lane_seeds[i];
  };
  const auto drawn = [&](std::size_t i) {
    return iteration.lane_draws.empty() ? 0 : iteration.lane_draws[i];
  };
  Generators generators;
  generators.torch = ops::TorchGenerator::At(seed(lane), drawn(lane));
  if (!options_.with_python) return generators;
  const std::size_t of_python = lanes_.size() + lane;
  generators.python = ops::PythonGenerator::At(seed(of_python), drawn(of_python));
  if (!options_.with_numpy) return generators;
  const std::size_t of_numpy = of_python + lanes_.size();
  const bool of_worker = iteration.lane_seeds.empty() ||
                         iteration.lane_seeds[of_numpy] == IterationOptions::kNumpySeedOfWorker;
  const auto seeded = of_worker ? ops::NumpyGenerator::OfWorker(iteration.base_seed, lane)
                                : ops::NumpyGenerator(static_cast<std::uint32_t>(seed(of_numpy)));
  generators.numpy = seeded.At(drawn(of_numpy));
  return generators;
}

void DrawPlanner::Skip(std::span<const std::int64_t> keys) {
  if (options_.rng != RngMode::kSample) return;
  for (const std::int64_t key : keys) (void)occurrences_.Count(key);
}

std::int64_t DrawPlanner::Submit(std::vector<std::int64_t> keys, std::int32_t lane_index) {
  const std::int64_t batch = next_batch_++;
  Record& record = records_[batch];
  record.lane = lane_index >= 0 ? lane_index : static_cast<std::int32_t>(batch % options_.lanes);
  record.keys = std::move(keys);
  if (!torch()) {
    if (options_.rng == RngMode::kSample) {
      record.seeds.reserve(record.keys.size());
      for (const std::int64_t key : record.keys) {
        record.seeds.push_back(ops::Chain::SampleSeed(base_seed_, key, occurrences_.Count(key)));
      }
    }
    record.planned = true;
    ready_.push_back(batch);
    return batch;
  }
  // Asks for all sizes of the batch at once, also if its lane waits for another batch.
  for (const std::int64_t key : record.keys) Ask(key);
  Lane& lane = lanes_[static_cast<std::size_t>(record.lane)];
  lane.waiting.push_back(batch);
  if (lane.wait == Wait::kNothing) Advance(lane);
  return batch;
}

std::int64_t DrawPlanner::Row(std::int64_t key) const {
  if (key < 0 || (options_.keys >= 0 && key >= options_.keys)) return -1;
  const std::int64_t row =
      options_.row_map.empty() ? key : options_.row_map[static_cast<std::size_t>(key)];
  if (options_.dims && (row < 0 || row >= options_.dims->rows())) return -1;
  return row;
}

bool DrawPlanner::Known(std::int64_t key) const {
  const std::int64_t row = Row(key);
  return row < 0 || HeldBack(row) || !options_.dims ||
         options_.dims->state(row) != SizeTable::State::kUnknown;
}

void DrawPlanner::Ask(std::int64_t key) {
  if (!Known(key) && asked_.insert(key).second) unknown_.push_back(key);
}

std::vector<std::int64_t> DrawPlanner::TakeUnknown() { return std::exchange(unknown_, {}); }

void DrawPlanner::Described(std::int64_t key, const std::optional<TensorSpec>& spec) {
  asked_.erase(key);
  const std::int64_t row = Row(key);
  if (row < 0 || !options_.dims) return;
  options_.dims->Set(row, spec);
  sizes_changed_ = true;
}

void DrawPlanner::SizeChanged(std::int64_t key) {
  const std::int64_t row = Row(key);
  // A sample that was asked for meanwhile is on its way.
  if (row >= 0 && options_.dims && !asked_.contains(key)) options_.dims->Forget(row);
}

void DrawPlanner::DescribeLost(std::span<const std::int64_t> keys) {
  for (const std::int64_t key : keys) {
    if (asked_.erase(key) > 0) Ask(key);
  }
}

void DrawPlanner::Advance(Lane& lane) {
  lane.wait = Wait::kNothing;
  while (!lane.waiting.empty()) {
    const std::int64_t batch = lane.waiting.front();
    const auto at = records_.find(batch);
    HR_CHECK(at != records_.end());
    Record& record = at->second;
    if (!AdvanceBatch(lane, batch, record)) return;
    lane.waiting.pop_front();
    if (record.ghost) {
      lane.generator.Pass();
      records_.erase(at);
      continue;
    }
    record.planned = true;
    record.after = lane.generator.place();
    if (tell_states_) record.state_after = lane.generator.now().State();
    ready_.push_back(batch);
  }
}

bool DrawPlanner::AdvanceBatch(Lane& lane, std::int64_t batch, Record& record) {
  BatchDraws& draws = record.draws;
  Generators& generator = lane.generator.now();
  if (!draws.begun()) {
    draws.Begin(generator, record.keys.size(), static_cast<std::size_t>(options_.param_words));
  }
  while (draws.next() < record.keys.size()) {
    const std::int64_t key = record.keys[draws.next()];
    const std::int64_t row = Row(key);
    const SizeTable::State state =
        row < 0 || HeldBack(row) ? SizeTable::State::kNoNativeForm : options_.dims->state(row);
    if (state == SizeTable::State::kUnknown) {
      Ask(key);
      lane.wait = Wait::kSize;
      return false;
    }
    // If the framework raises, the trainer's own code must raise.
    if (state == SizeTable::State::kNoNativeForm ||
        !draws.Draw(options_.dims->spec(row), options_.draw, generator)) {
      if (record.ghost) {
        // Nobody makes a sample of the iteration before any more; its draws are lost.
        draws.Resolve(generator, false);
        continue;
      }
      lane.wait = Wait::kTrainer;
      needed_.push_back({batch, static_cast<std::int32_t>(draws.next()), key, generator.State()});
      return false;
    }
  }
  return true;
}

std::optional<PlannedBatch> DrawPlanner::Next() {
  if (std::exchange(sizes_changed_, false)) {
    for (Lane& lane : lanes_) {
      if (lane.wait == Wait::kSize) Advance(lane);
    }
  }
  if (ready_.empty()) return std::nullopt;
  const std::int64_t batch = ready_.front();
  ready_.pop_front();
  Record& record = records_.at(batch);
  record.handed = true;
  PlannedBatch planned;
  planned.batch = batch;
  planned.lane = record.lane;
  planned.keys = record.keys;
  planned.params = record.draws.TakeParams();
  planned.specs = record.draws.specs();
  planned.seeds = record.seeds;
  planned.values = record.draws.values();
  planned.lane_state = record.state_after;
  for (const Unmade& unmade : UnmadePositions(batch)) planned.skip.push_back(unmade.position);
  if (record.draws.end() >= 0) {
    for (auto i = record.draws.end() + 1; i < static_cast<std::int32_t>(record.keys.size()); ++i) {
      planned.skip.push_back(i);
    }
  }
  return planned;
}

std::optional<SampleNeeded> DrawPlanner::TakeNeeded() {
  if (needed_.empty()) return std::nullopt;
  SampleNeeded needed = std::move(needed_.front());
  needed_.pop_front();
  return needed;
}

Status DrawPlanner::Resolve(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                            bool failed) {
  const auto at = records_.find(batch);
  if (at == records_.end() || at->second.ghost || at->second.planned ||
      static_cast<std::int64_t>(at->second.draws.next()) != position ||
      lanes_[static_cast<std::size_t>(at->second.lane)].wait != Wait::kTrainer) {
    return InvalidArgument("sample " + std::to_string(position) + " of batch " +
                           std::to_string(batch) + " was not asked for");
  }
  Record& record = at->second;
  Lane& lane = lanes_[static_cast<std::size_t>(record.lane)];
  HR_RETURN_IF_ERROR(lane.generator.MoveTo(state_after));
  record.draws.Resolve(lane.generator.now(), failed);
  Advance(lane);
  return Status::Ok();
}

Result<std::vector<std::int64_t>> DrawPlanner::Replan(std::int64_t batch, ByteSpan state_after) {
  if (!torch() || batch < 0) return std::vector<std::int64_t>();
  const auto lane_index = static_cast<std::int32_t>(batch % options_.lanes);
  Lane& lane = lanes_[static_cast<std::size_t>(lane_index)];
  HR_RETURN_IF_ERROR(lane.generator.MoveBackTo(batch, state_after));
  std::vector<std::int64_t> later, handed;
  for (auto& [number, record] : records_) {
    if (record.ghost || record.lane != lane_index || number <= batch) continue;
    later.push_back(number);
    if (record.handed) handed.push_back(number);
    record.planned = record.handed = false;
    record.draws.Clear();
  }
  std::ranges::sort(later);
  std::ranges::sort(handed);
  const auto void_now = [&](std::int64_t number) {
    return std::ranges::binary_search(later, number);
  };
  std::erase_if(ready_, void_now);
  std::erase_if(needed_, [&](const SampleNeeded& needed) { return void_now(needed.batch); });
  lane.waiting.assign(later.begin(), later.end());
  Advance(lane);
  return handed;
}

std::vector<DrawPlanner::Unmade> DrawPlanner::UnmadePositions(std::int64_t batch) const {
  const Record& record = records_.at(batch);
  std::vector<Unmade> unmade;
  for (const BatchDraws::Resolved& resolved : record.draws.resolved()) {
    unmade.push_back({resolved.position, Code::kUnsupported,
                      resolved.position == record.draws.end() ? "it raised when the trainer made it"
                                                              : "no worker can read its size"});
  }
  if (torch() || !options_.native || options_.keys < 0) return unmade;
  for (std::size_t i = 0; i < record.keys.size(); ++i) {
    const std::int64_t row = Row(record.keys[i]);
    if (row >= 0 && !HeldBack(row)) continue;
    const auto position = static_cast<std::int32_t>(i);
    if (row < 0) {
      unmade.push_back({position, Code::kNotFound, "the key is outside of the data set"});
    } else {
      unmade.push_back({position, Code::kUnavailable, "it ends workers"});
    }
  }
  return unmade;
}

void DrawPlanner::DescribeState(std::int64_t batch, MissingSample& sample) {
  Record& record = records_.at(batch);
  if (torch() && record.draws.begun()) {
    sample.torch_state = record.draws.Before(sample.position, options_.draw).State();
    if (sample.position != record.draws.end()) {
      sample.torch_state_after = record.draws.Before(sample.position + 1, options_.draw).State();
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
  lanes_[static_cast<std::size_t>(record.lane)].generator.Delivered(batch, record.after,
                                                                    record.draws.TakeStart());
  records_.erase(at);
}

Result<std::vector<std::uint64_t>> DrawPlanner::LaneDraws() const {
  std::vector<std::uint64_t> draws;
  if (options_.rng != RngMode::kTorch) return draws;
  if (!options_.native) {
    return Unsupported("lanes that draw in Python have no state that can be resumed by counting");
  }
  for (const Lane& lane : lanes_) {
    const LaneGenerator::Place& place = lane.generator.delivered();
    if (!place.resumable) {
      return Unsupported(
          "a sample that was made in the trainer changed its lane's generator by "
          "more than draws; it cannot be resumed by counting");
    }
    draws.push_back(place.draws);
  }
  for (std::size_t i = 0; i < (options_.with_python ? lanes_.size() : 0); ++i) {
    draws.push_back(lanes_[i].generator.delivered().python_draws);
  }
  for (std::size_t i = 0; i < (options_.with_numpy ? lanes_.size() : 0); ++i) {
    draws.push_back(lanes_[i].generator.delivered().numpy_draws);
  }
  return draws;
}

}  // namespace headrace::client
