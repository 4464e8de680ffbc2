#include <algorithm>

#include "schemas/wire/convert_internal.h"
#include "schemas/wire/convert_metrics_internal.h"
#include "schemas/wire/field_layout.h"

// The hot messages: one BatchRequest and one BatchDone a batch.
namespace headrace::wire {
namespace {

// True if [offset, offset + size) lies in [0, limit).
bool Inside(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

FieldLayout ReadField(Reader& r, const fb::FieldLayout& v, std::uint64_t used_bytes) {
  FieldLayout out{.dtype = r.Enum<DType>(v.dtype(), fb::DType::MAX, "dtype"),
                  .shape = r.Scalars(v.shape()),
                  .offset = v.offset(),
                  .row_sizes = r.Scalars(v.row_sizes())};
  const std::optional<std::uint64_t> bytes = FieldBytes(out);
  r.Require(bytes.has_value(), "field shape");
  r.Require(Inside(out.offset, bytes.value_or(0), used_bytes), "field outside the batch");
  return out;
}

SampleFailure ReadFailure(Reader& r, const fb::SampleFailure& v) {
  r.Require(v.code() != fb::Code::Ok, "failure without a failure");
  return {.position = r.NotNegative(v.position(), "position"),
          .code = ReadCode(v.code()),
          .message = r.Text(v.message()),
          .detail = v.size_changed() ? Detail::kOtherSpec : ReadDetail(v.detail())};
}

Offset<fb::BatchCost> Write(Builder& b, const BatchCost& v) {
  fb::BatchCostBuilder table(b);
  HEADRACE_BATCH_METRICS(HEADRACE_WRITE_METRIC);
  return table.Finish();
}

BatchCost Read(Reader& r, const fb::BatchCost& v) {
  BatchCost out;
  HEADRACE_BATCH_METRICS(HEADRACE_READ_METRIC);
  return out;
}

}  // namespace

Offset<fb::BatchRequest> Write(Builder& b, const BatchRequest& v) {
  const auto keys = WriteScalars(b, v.keys);
  const auto params = WriteScalars(b, v.params);
  const auto seeds = WriteScalars(b, v.seeds);
  const auto skip = WriteScalars(b, v.skip);
  const auto lane_state = WriteRaw(b, v.lane_state);
  const auto index = WriteRaw(b, v.index);
  std::vector<std::int32_t> image_sizes;
  for (const auto& spec : v.specs) {
    const ImageSize size = ImageSizeOf(spec).value_or(ImageSize{});
    image_sizes.insert(image_sizes.end(), {size.height, size.width, size.channels});
  }
  const auto sizes = WriteScalars(b, image_sizes);
  const auto specs = WriteSpecs(b, v.specs);
  const auto witness = WriteScalars(b, v.witness);
  const auto whole = WriteScalars(b, v.witness_whole);
  return fb::CreateBatchRequest(
      b, v.session.value, v.iteration.value, v.batch.value, v.attempt, keys, params, seeds, skip,
      v.slot.value, v.slot_offset, v.slot_bytes, v.lane.value, v.base_seed, lane_state, index,
      v.lane_set, sizes, witness, whole, specs, v.tail_node, v.lane_after);
}

BatchRequest Read(Reader& r, const fb::BatchRequest* v) {
  BatchRequest out{.session = r.ReadId<SessionId>(v->session(), "session"),
                   .iteration = r.ReadId<IterationId>(v->iteration(), "iteration"),
                   .batch = r.ReadId<BatchId>(v->batch(), "batch"),
                   .attempt = v->attempt(),
                   .keys = r.Scalars(v->keys()),
                   .params = r.Scalars(v->params()),
                   .seeds = r.Scalars(v->seeds()),
                   .skip = r.Scalars(v->skip()),
                   .slot = r.ReadId<SlotId>(v->slot(), "slot"),
                   .slot_offset = v->slot_offset(),
                   .slot_bytes = v->slot_bytes(),
                   .lane = r.ReadId<LaneId>(v->lane(), "lane"),
                   .base_seed = v->base_seed(),
                   .lane_state = r.Raw(v->lane_state()),
                   .index = r.Raw(v->index()),
                   .lane_set = v->lane_set(),
                   .specs = ReadSpecs(r, v->specs()),
                   .witness = r.Scalars(v->witness()),
                   .witness_whole = r.Scalars(v->witness_whole()),
                   .tail_node = r.NotNegative(v->tail_node(), "tail_node"),
                   .lane_after = v->lane_after()};
  const std::size_t samples = out.keys.size();
  r.Require(out.params.empty() || (samples != 0 && out.params.size() % samples == 0),
            "params that do not divide among the keys");
  const std::vector<std::int32_t> sizes = r.Scalars(v->sizes());
  r.Require(sizes.empty() || sizes.size() == samples * 3, "sizes and keys of unequal length");
  if (out.specs.empty() && sizes.size() == samples * 3) {  // of a peer that writes no specs
    for (std::size_t i = 0; i < sizes.size(); i += 3) {
      const ImageSize size{sizes[i], sizes[i + 1], sizes[i + 2]};
      const std::int32_t least = std::min({size.height, size.width, size.channels});
      r.Require(least >= 0, "image size");
      out.specs.push_back(least == 0 ? std::nullopt : std::optional(SpecOf(size)));
    }
  }
  r.Require(out.specs.empty() || out.specs.size() == samples, "specs and keys of unequal length");
  r.Require(out.seeds.empty() || out.seeds.size() == samples, "seeds and keys of unequal length");
  const auto require_positions = [&](const std::vector<std::int32_t>& positions, const char* what) {
    for (const std::int32_t position : positions) {
      r.Require(position >= 0 && static_cast<std::size_t>(position) < samples, what);
    }
  };
  require_positions(out.skip, "skip");
  require_positions(out.witness, "witness");
  require_positions(out.witness_whole, "whole witness");
  r.Require(Inside(out.slot_offset, out.slot_bytes, ~std::uint64_t{0}), "slot");
  return out;
}

Offset<fb::BatchDone> Write(Builder& b, const BatchDone& v) {
  const auto status = Write(b, v.status);
  const auto fields = WriteTables(b, v.fields, [&b](const FieldLayout& field) {
    return fb::CreateFieldLayout(b, static_cast<fb::DType>(field.dtype),
                                 WriteScalars(b, field.shape), field.offset,
                                 WriteScalars(b, field.row_sizes));
  });
  const auto failures = WriteTables(b, v.failures, [&b](const SampleFailure& failure) {
    return fb::CreateSampleFailure(
        b, failure.position, static_cast<fb::Code>(failure.code), WriteText(b, failure.message),
        failure.detail == Detail::kOtherSpec, static_cast<fb::Detail>(failure.detail));
  });
  const auto cost = Write(b, v.cost);
  const auto pickle = WriteRaw(b, v.pickle);
  const auto offsets = WriteScalars(b, v.buffer_offsets);
  const auto sizes = WriteScalars(b, v.buffer_sizes);
  const auto python_error = WriteRaw(b, v.python_error);
  const auto lane_state = WriteRaw(b, v.lane_state);
  const auto output = WriteText(b, v.output);
  const auto error_output = WriteText(b, v.error_output);
  const auto witnesses = WriteTables(b, v.witnesses, [&b](const Witness& w) {
    return fb::CreateWitness(b, w.position, w.file.device, w.file.inode, w.file.mtime_ns,
                             w.file.ctime_ns, w.file.size, w.file.ends, w.file.whole);
  });
  const auto state_change = WriteText(b, v.state_change);
  const auto tiers = WriteTiers(b, v.tiers);
  return fb::CreateBatchDone(
      b, v.session.value, v.iteration.value, v.batch.value, v.attempt, status, v.needed_bytes,
      v.used_bytes, fields, failures, cost, pickle, offsets, sizes, python_error, lane_state,
      output, v.samples, v.lane_ended, error_output, witnesses, state_change, tiers, v.tail_node);
}

BatchDone Read(Reader& r, const fb::BatchDone* v) {
  BatchDone out;
  out.session = r.ReadId<SessionId>(v->session(), "session");
  out.iteration = r.ReadId<IterationId>(v->iteration(), "iteration");
  out.batch = r.ReadId<BatchId>(v->batch(), "batch");
  out.attempt = v->attempt();
  out.status = Read(r, v->status());
  out.needed_bytes = v->needed_bytes();
  out.used_bytes = v->used_bytes();
  if (v->fields() != nullptr) {
    out.fields.reserve(v->fields()->size());
    for (const fb::FieldLayout* field : *v->fields()) {
      out.fields.push_back(ReadField(r, *field, out.used_bytes));
    }
  }
  if (v->failures() != nullptr) {
    for (const fb::SampleFailure* failure : *v->failures()) {
      out.failures.push_back(ReadFailure(r, *failure));
    }
  }
  if (v->cost() != nullptr) out.cost = Read(r, *v->cost());
  out.tiers = ReadTiers(r, v->tiers());
  out.pickle = r.Raw(v->pickle());
  out.buffer_offsets = r.Scalars(v->buffer_offsets());
  out.buffer_sizes = r.Scalars(v->buffer_sizes());
  r.Require(out.buffer_offsets.size() == out.buffer_sizes.size(),
            "buffer offsets and sizes of unequal length");
  const std::size_t buffers = std::min(out.buffer_offsets.size(), out.buffer_sizes.size());
  for (std::size_t i = 0; i < buffers; ++i) {
    r.Require(Inside(out.buffer_offsets[i], out.buffer_sizes[i], out.used_bytes),
              "buffer outside the batch");
  }
  out.python_error = r.Raw(v->python_error());
  out.lane_state = r.Raw(v->lane_state());
  out.output = r.Text(v->output());
  out.error_output = r.Text(v->error_output());
  out.state_change = r.Text(v->state_change());
  out.samples = v->samples();
  r.Require(out.samples >= -1, "samples");
  out.tail_node = r.NotNegative(v->tail_node(), "tail_node");
  if (v->witnesses() != nullptr) {
    for (const fb::Witness* w : *v->witnesses()) {
      out.witnesses.push_back({.position = r.NotNegative(w->position(), "position"),
                               .file = {.device = w->device(),
                                        .inode = w->inode(),
                                        .mtime_ns = w->mtime_ns(),
                                        .ctime_ns = w->ctime_ns(),
                                        .size = w->size(),
                                        .ends = w->ends(),
                                        .whole = w->whole()}});
    }
  }
  out.lane_ended = v->lane_ended();
  r.Require(!out.lane_ended || (out.pickle.empty() && out.python_error.empty()),
            "a batch after the lane's end");
  return out;
}

Offset<fb::CancelIterations> Write(Builder& b, const CancelIterations& v) {
  return fb::CreateCancelIterations(b, v.session.value, v.before.value);
}

CancelIterations Read(Reader& r, const fb::CancelIterations* v) {
  return {.session = r.ReadId<SessionId>(v->session(), "session"),
          .before = r.ReadId<IterationId>(v->before(), "before")};
}

}  // namespace headrace::wire
