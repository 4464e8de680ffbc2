#include "trainer_client/session/batch_result.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "schemas/wire/field_layout.h"

namespace headrace::client {
namespace {

// Bytes of one row of a column of the source.
std::uint64_t RowBytes(const Plan& plan, const FieldSpec& field) {
  if (plan.leaves.empty() || plan.leaves[0].arrays.empty()) return 8;  // label
  const auto index = static_cast<std::size_t>(field.index);
  if (index >= plan.leaves[0].arrays.size()) return 0;
  const SourceLeaf::Array& array = plan.leaves[0].arrays[index];
  std::uint64_t bytes = DTypeBytes(array.dtype);
  for (const std::int64_t side : array.row_shape) bytes *= static_cast<std::uint64_t>(side);
  return bytes;
}

Status CheckField(const FieldSpec& spec, std::size_t rank, const wire::FieldLayout& field,
                  std::size_t samples, std::uint64_t used_bytes) {
  if (DTypeBytes(field.dtype) == 0) return DataLoss("a field of an unknown element type");
  if (field.shape.empty() || field.shape[0] != static_cast<std::int64_t>(samples)) {
    return DataLoss("a field without one row for each sample");
  }
  if (wire::IsList(field) != (spec.kind == FieldSpec::Kind::kList)) {
    return DataLoss("a list in the place of a stack, or a stack in that of a list");
  }
  if (rank > 0 && field.shape.size() != rank + 1) {
    return DataLoss("samples of " + std::to_string(field.shape.size() - 1) +
                    " dimensions in the place of " + std::to_string(rank));
  }
  const std::optional<std::uint64_t> bytes = wire::FieldBytes(field);
  if (!bytes) return DataLoss("a field of impossible shape");
  if (field.offset % wire::kFieldAlignment != 0 || field.offset > used_bytes ||
      *bytes > used_bytes - field.offset) {
    return DataLoss("a field outside of its slot");
  }
  return Status::Ok();
}

// REQUIRES: CheckField was ok.
BatchField FieldOf(wire::FieldLayout&& field, MutableByteSpan slot) {
  BatchField made{field.dtype,
                  {field.shape[0]},
                  slot.subspan(field.offset, wire::FieldBytes(field).value_or(0))};
  if (!wire::IsList(field)) {
    made.shape = std::move(field.shape);
    return made;
  }
  for (const wire::FieldRow& row : wire::RowsOf(field)) {
    made.rows.push_back(
        {field.dtype, {row.shape.begin(), row.shape.end()}, slot.subspan(row.offset, row.bytes)});
  }
  return made;
}

// A native plan's batch is numbers alone. What else a worker might send would be read by pickle, or
// printed, in the trainer.
Status CheckNoPython(const wire::BatchDone& done) {
  if (done.pickle.empty() && done.python_error.empty() && done.lane_state.empty() &&
      done.buffer_sizes.empty() && done.output.empty() && done.error_output.empty() &&
      done.state_change.empty() && done.samples == -1) {
    return Status::Ok();
  }
  return DataLoss("Python objects or text in the answer to a native plan");
}

}  // namespace

std::uint64_t BatchBytes(const Plan& plan, std::size_t samples,
                         std::span<const TensorSpec> values) {
  const std::vector<std::int32_t> nodes = ValuesOf(plan);
  std::uint64_t bytes = 0;
  for (const FieldSpec& field : plan.fields) {
    if (field.kind == FieldSpec::Kind::kArray) {
      bytes += wire::AlignField(samples * RowBytes(plan, field));
      continue;
    }
    const auto value =
        static_cast<std::size_t>(std::ranges::find(nodes, NodeOf(plan, field)) - nodes.begin());
    if (value >= values.size()) continue;
    const std::uint64_t row = values[value].bytes();
    const bool list = field.kind == FieldSpec::Kind::kList;
    bytes += list ? samples * wire::AlignField(row) : wire::AlignField(samples * row);
  }
  return bytes;
}

std::vector<std::size_t> RanksOf(const Plan& plan, const ops::Graph& graph) {
  const std::vector<std::int32_t> nodes = ValuesOf(plan);
  std::vector<std::size_t> ranks(plan.fields.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto node = std::ranges::find(nodes, NodeOf(plan, plan.fields[i]));
    if (plan.fields[i].kind == FieldSpec::Kind::kArray || node == nodes.end()) continue;
    const auto& value = graph.values()[static_cast<std::size_t>(node - nodes.begin())];
    const std::size_t rank = graph.chain(value.first).output().dims.rank();
    ranks[i] = rank + (value.stacked ? 1 : 0) - (value.squeezed ? 1 : 0);
  }
  return ranks;
}

Status CheckAnswer(const Plan& plan, std::span<const std::size_t> ranks, std::size_t samples,
                   std::size_t asked, std::uint64_t slot_bytes, const wire::BatchDone& done) {
  if (done.used_bytes > slot_bytes) return DataLoss("more bytes than the slot has");
  if (done.buffer_offsets.size() != done.buffer_sizes.size()) {
    return DataLoss("buffers without sizes");
  }
  for (std::size_t i = 0; i < done.buffer_sizes.size(); ++i) {
    if (done.buffer_offsets[i] > done.used_bytes ||
        done.buffer_sizes[i] > done.used_bytes - done.buffer_offsets[i]) {
      return DataLoss("a buffer outside of its slot");
    }
  }
  for (const wire::SampleFailure& failure : done.failures) {
    if (failure.position < 0 || static_cast<std::size_t>(failure.position) >= samples) {
      return DataLoss("a failure of a sample that is not in the batch");
    }
  }
  if (done.lane_ended && !(plan.has_python_stage && plan.python.replayed)) {
    return DataLoss("the end of a lane that has none");
  }
  if (plan.has_python_stage) return Status::Ok();
  HR_RETURN_IF_ERROR(CheckNoPython(done));
  // A batch without a sample made need have no fields: nothing told the worker their shape.
  if (done.fields.empty() && done.failures.size() == asked) return Status::Ok();
  if (done.fields.size() != plan.fields.size()) {
    return DataLoss(std::to_string(done.fields.size()) + " fields instead of " +
                    std::to_string(plan.fields.size()));
  }
  for (std::size_t i = 0; i < done.fields.size(); ++i) {
    const std::size_t rank = i < ranks.size() ? ranks[i] : 0;
    HR_RETURN_IF_ERROR(CheckField(plan.fields[i], rank, done.fields[i], samples, done.used_bytes));
  }
  return Status::Ok();
}

Status CheckPayload(const std::vector<ByteSpan>& payload, std::uint64_t used_bytes) {
  std::uint64_t total = 0;
  for (const ByteSpan frame : payload) total += frame.size();
  if (total == used_bytes) return Status::Ok();
  return DataLoss(std::to_string(total) + " payload bytes instead of " +
                  std::to_string(used_bytes));
}

Status CopyPayload(const std::vector<ByteSpan>& payload, std::uint64_t used_bytes,
                   MutableByteSpan slot) {
  HR_RETURN_IF_ERROR(CheckPayload(payload, used_bytes));
  if (used_bytes > slot.size()) return DataLoss("a payload that is larger than its slot");
  std::byte* to = slot.data();
  for (const ByteSpan frame : payload) {
    if (!frame.empty()) std::memcpy(to, frame.data(), frame.size());
    to += frame.size();
  }
  return Status::Ok();
}

Batch MakeBatch(wire::BatchDone&& done, MutableByteSpan slot) {
  Batch batch;
  batch.fields.reserve(done.fields.size());
  for (wire::FieldLayout& field : done.fields) {
    batch.fields.push_back(FieldOf(std::move(field), slot));
  }
  for (std::size_t i = 0; i < done.buffer_sizes.size(); ++i) {
    batch.buffers.push_back(slot.subspan(done.buffer_offsets[i], done.buffer_sizes[i]));
  }
  batch.pickle = std::move(done.pickle);
  batch.python_error = std::move(done.python_error);
  batch.output = std::move(done.output);
  batch.error_output = std::move(done.error_output);
  batch.lane_ended = done.lane_ended;
  batch.bytes = done.used_bytes;
  return batch;
}

BatchTimeline::Worker WorkerTimes(const wire::BatchCost& cost) {
  static constexpr std::uint64_t kMost = std::uint64_t{1}
                                         << 58;  // nine years: sums do not overflow
  const auto duration = [](std::uint64_t ns) {
    return Duration(static_cast<Duration::rep>(std::min(ns, kMost)));
  };
  BatchTimeline::Worker times;
  times.queue = duration(cost.queue_ns);
  times.wall = duration(cost.wall_ns);
  times.source = duration(cost.source_ns);
  times.python = duration(cost.python_ns);
  times.compute = duration(cost.compute_ns - std::min(cost.python_ns, cost.compute_ns));
  return times;
}

void AddCost(wire::BatchCost cost, std::int64_t tried, SessionStats& stats) {
  const auto samples = static_cast<std::uint64_t>(std::max<std::int64_t>(tried, 0));
  const std::uint64_t hits = std::min<std::uint64_t>(cost.decoded_hits, samples);
  stats.hit_samples += hits;
  stats.miss_samples += samples - hits;
  cost.compute_ns -= std::min(cost.python_ns, cost.compute_ns);
#define HEADRACE_ADD_METRIC(type, name, ...) stats.name += cost.name;
  HEADRACE_BATCH_METRICS(HEADRACE_ADD_METRIC)
#undef HEADRACE_ADD_METRIC
}

void AddTiers(const std::vector<wire::TierHits>& tiers, SessionStats& stats) {
  for (const wire::TierHits& tier : tiers) {
    const bool full = stats.hits_by_tier.size() >= wire::kMostTiers;
    if (full && !stats.hits_by_tier.contains(tier.tier)) continue;
    TierHits& sum = stats.hits_by_tier[tier.tier];
    sum.decoded += tier.decoded;
    sum.encoded += tier.encoded;
    sum.cpu_ns += tier.cpu_ns;
  }
}

}  // namespace headrace::client
