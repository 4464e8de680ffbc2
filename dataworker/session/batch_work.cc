// This file is long because a sample's steps share its state, from its input to its last field.
#include "dataworker/session/batch_work.h"

#include <algorithm>
#include <utility>

#include "dataworker/session/batch_request.h"
#include "dataworker/source/core/source_bytes.h"
#include "dataworker/source/ranges/zip_member.h"
#include "ops/torch/torch_generator.h"

namespace headrace::dataworker {
namespace {

// Reads the size of an encoded sample, and has memory for it as long as `scratch` lives.
Result<TensorSpec> AdmitPicture(const BatchWork& work, const CompiledPlan::Location& at,
                                ByteSpan encoded, LargeScratch& scratch) {
  HR_TRY(const TensorSpec spec, work.setup().plan->runner().ReadSource(encoded));
  HR_RETURN_IF_ERROR(work.setup().pictures->Admit(spec, *at.source, at.row, scratch,
                                                  [&work] { return work.cancelled(); }));
  return spec;
}

}  // namespace

// The rest of a unit, after a slow tier or a source has answered. The batch counts it as one of its own.
class BatchWork::RestOfUnit final : public Work {
 public:
  RestOfUnit(std::shared_ptr<BatchWork> batch, Unit unit)
      : Work(1, batch->iteration(), Reads::kAsked, batch->request().batch.value),
        batch_(std::move(batch)),
        unit_(std::move(unit)) {}

 protected:
  void Run(std::int64_t /*unit*/, ThreadContext& context) override {
    if (!batch_->cancelled()) batch_->RunPart(std::move(unit_), context);
  }
  void Finish() override {
    unit_.input = SampleInput();  // frees its places
    batch_->Drop(1);
  }

 private:
  const std::shared_ptr<BatchWork> batch_;
  Unit unit_;
};

BatchWork::BatchWork(Setup setup, OnDone on_done)
    : Work(static_cast<std::int64_t>(PositionsOf(setup.request).size()), setup.request.iteration,
           Reads::kAsked),
      setup_(std::move(setup)),
      on_done_(std::move(on_done)),
      positions_(PositionsOf(setup_.request)),
      costs_(setup_.received, setup_.cache ? setup_.cache->tiers() : 0) {}

MutableByteSpan BatchWork::Row(std::size_t field, std::int32_t position) const {
  const BatchLayout::Row row = setup_.layout.At(field, static_cast<std::size_t>(position));
  return setup_.memory.subspan(row.offset, row.bytes);
}

void BatchWork::Run(std::int64_t unit, ThreadContext& context) {
  RunPart({.position = positions_[static_cast<std::size_t>(unit)]}, context);
}

void BatchWork::RunPart(Unit unit, ThreadContext& context) {
  const SteadyTime begin = setup_.clock->Now();
  const Duration cpu = setup_.clock->ThreadCpu();
  costs_.Start(begin);
  const Status status = MakeSample(unit, context);
  if (!status.ok()) FailSample(unit.position, status);
  context.GiveBackLarge();
  // In this order. A thread beyond its quota is held when it asks the kernel for its CPU time. That
  // wait is the sample's, not the queue's.
  unit.cost.cpu += setup_.clock->ThreadCpu() - cpu;
  unit.cost.total += setup_.clock->Now() - begin;
  if (!unit.waits()) {
    costs_.Add(unit.cost);
    return;
  }
  // No thread is at the sample until the answer. Then it goes on as work of its own.
  Postpone();
  Await(std::move(unit));
}

void BatchWork::Begin() {
  costs_.Start(setup_.clock->Now());
  std::vector<Unit> units;
  units.reserve(positions_.size());
  for (const std::int32_t position : positions_) units.push_back({.position = position});
  // After the earlier batches.
  AwaitInputs(std::move(units), WorkQueue::Place::kBack);
}

void BatchWork::AwaitInputs(std::vector<Unit> units, WorkQueue::Place place) {
  std::vector<SampleInputs::Sample> samples;
  std::vector<Unit> lost;  // whose keys are wrong: the unit itself finds out
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto position = static_cast<std::size_t>(units[i].position);
    const auto at = setup_.plan->Locate(setup_.request.keys[position]);
    if (at.ok()) {
      samples.push_back({i, std::shared_ptr<Source>(setup_.plan, at->source), at->row,
                         std::exchange(units[i].input, SampleInput())});
    } else {
      lost.push_back(units[i]);
    }
  }
  const CachedAs& cached = setup_.cached_as;
  SampleInputs::Parts parts{setup_.reads, setup_.asker, nullptr, {}, setup_.clock};
  if (cached.form != CacheForm::kNone) parts.cache = setup_.cache;
  parts.form = cached.entry;
  parts.first_ask = setup_.first_ask;
  auto self = std::static_pointer_cast<BatchWork>(shared_from_this());
  SampleInputs::Get(std::move(parts), std::move(samples),
                    [self, place, waiting = std::make_shared<std::vector<Unit>>(std::move(units))](
                        std::size_t index, SampleInput input) {
                      Unit unit = std::move((*waiting)[index]);
                      unit.cost.source += input.waited;
                      unit.cost.total += input.waited;
                      unit.input = std::move(input);
                      self->Resume(std::move(unit), place);
                    });
  for (Unit& unit : lost) Resume(std::move(unit), place);
}

void BatchWork::Await(Unit unit) {
  auto self = std::static_pointer_cast<BatchWork>(shared_from_this());
  if (unit.input.found.later) {
    const CacheKey key = unit.input.key;
    const CacheLookup stopped = std::exchange(unit.input.found, CacheLookup());
    setup_.cache->FindLater(key, stopped, [self, waiting = std::move(unit)](CacheLookup found) {
      Unit answered = waiting;
      answered.input.found = std::move(found);
      self->Resume(std::move(answered), WorkQueue::Place::kFront);
    });
    return;
  }
  if (unit.needs == Unit::Needs::kInput) {
    AwaitInputs({std::move(unit)}, WorkQueue::Place::kFront);
    return;
  }
  const auto position = static_cast<std::size_t>(unit.position);
  const auto at = setup_.plan->Locate(setup_.request.keys[position]);
  setup_.reads->Fetch(setup_.asker, *WitnessOf(setup_.request, unit.position),
                      std::shared_ptr<Source>(setup_.plan, at->source), {at->row},
                      [self, begin = setup_.clock->Now(), waiting = std::move(unit)](
                          std::size_t, RowAnswer answer) {
                        Unit answered = waiting;
                        const Duration waited = self->setup_.clock->Now() - begin;
                        answered.cost.source += waited;
                        answered.cost.total += waited;
                        answered.input.witness = std::move(answer);
                        self->Resume(std::move(answered), WorkQueue::Place::kFront);
                      });
}

void BatchWork::Resume(Unit unit, WorkQueue::Place place) {
  if (cancelled()) {
    unit.input = SampleInput();
    Drop(1);
    return;
  }
  unit.needs = Unit::Needs::kNothing;
  auto self = std::static_pointer_cast<BatchWork>(shared_from_this());
  setup_.resume(std::make_shared<RestOfUnit>(std::move(self), std::move(unit)), place);
}

Result<const SourceSample*> BatchWork::Read(const Sample& sample, ThreadContext& context) {
  std::optional<RowAnswer>& bytes = sample.unit.input.bytes;
  if (!bytes) {
    const SteadyTime begin = setup_.clock->Now();
    if (setup_.reads == nullptr || setup_.reads->MayReadNow(setup_.asker.job)) {
      bytes = AskNow(*sample.at.source, Ask::kBytes, sample.at.row, context.file);
    }
    sample.cost.source += setup_.clock->Now() - begin;
  }
  if (!bytes) {
    sample.unit.needs = Unit::Needs::kInput;
    return nullptr;
  }
  sample.cost.miss = true;
  HR_RETURN_IF_ERROR(bytes->status);
  sample.cost.source_bytes += bytes->bytes_read;
  HR_RETURN_IF_ERROR(
      UnpackSample(*sample.at.source, sample.at.row, bytes->sample, context.unpacked));
  return &bytes->sample;
}

Status BatchWork::MakeSample(Unit& unit, ThreadContext& context) {
  const std::int32_t position = unit.position;
  const std::int64_t key = setup_.request.keys[static_cast<std::size_t>(position)];
  HR_TRY(const CompiledPlan::Location at, setup_.plan->Locate(key));
  const std::vector<FieldSpec>& fields = setup_.plan->fields();
  ByteSpan bytes;  // of the row, where columns are made of them
  if (setup_.plan->reads_columns(*at.source)) {
    const Sample sample{position, at, {}, unit, unit.cost};
    HR_TRY(const SourceSample* const read, Read(sample, context));
    if (read == nullptr) return {};
    bytes = read->bytes;
  }
  if (setup_.plan->has_graph()) {
    const std::vector<std::int32_t>& value_of_field = setup_.plan->value_of_field();
    std::vector<MutableByteSpan> outs(setup_.plan->graph().values().size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (value_of_field[i] < 0) continue;
      MutableByteSpan& out = outs[static_cast<std::size_t>(value_of_field[i])];
      if (out.data() == nullptr) out = Row(i, position);
    }
    const Sample sample{position, at, outs, unit, unit.cost};
    if (!unit.made) {
      HR_RETURN_IF_ERROR(MakeValues(sample, context));
      if (unit.waits()) return {};
      unit.made = true;
      unit.input = SampleInput();  // its places are free for others before it waits again
    }
    HR_RETURN_IF_ERROR(BearWitness(sample));
    if (unit.waits()) return {};
    for (std::size_t i = 0; i < fields.size(); ++i) {  // the same value in a second field
      if (value_of_field[i] < 0) continue;
      const MutableByteSpan first = outs[static_cast<std::size_t>(value_of_field[i])];
      const MutableByteSpan out = Row(i, position);
      if (out.data() != first.data()) std::copy_n(first.begin(), out.size(), out.begin());
    }
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].kind != FieldSpec::Kind::kArray) continue;
    const std::int32_t index = fields[i].index;
    HR_RETURN_IF_ERROR(at.source->column_in_bytes(index)
                           ? at.source->MakeColumn(index, bytes, Row(i, position))
                           : at.source->CopyColumn(index, at.row, Row(i, position)));
  }
  return {};
}

// After the sample is made: if a file is replaced meanwhile, the witness names the new one, which
// the trainer sees too.
Status BatchWork::BearWitness(const Sample& sample) {
  const std::optional<Ask> ask = WitnessOf(setup_.request, sample.position);
  if (!ask || !sample.at.source->cacheable()) return {};
  std::optional<RowAnswer>& witness = sample.unit.input.witness;
  if (!witness) {
    const SteadyTime begin = setup_.clock->Now();
    ScratchBuffer unused;
    witness = AskNow(*sample.at.source, *ask, sample.at.row, unused);
    sample.cost.source += setup_.clock->Now() - begin;
  }
  if (!witness) {
    sample.unit.needs = Unit::Needs::kWitness;
    return {};
  }
  HR_RETURN_IF_ERROR(witness->status);
  const std::lock_guard lock(mutex_);
  witnesses_.push_back({sample.position, witness->witness});
  return {};
}

Status BatchWork::MakeValues(const Sample& sample, ThreadContext& context) {
  const CacheForm form = setup_.cached_as.form;
  if (setup_.cache == nullptr || form == CacheForm::kNone || !sample.at.source->cacheable()) {
    return MakeUncached(sample, context);
  }
  SampleInput& input = sample.unit.input;
  const bool prefix = form == CacheForm::kPrefix;
  if (!input.asked && !input.bytes) {
    const SteadyTime begin = setup_.clock->Now();
    const std::optional<RowAnswer> identity =
        AskNow(*sample.at.source, Ask::kIdentity, sample.at.row, context.file);
    if (identity && identity->status.ok()) {
      input.key = {identity->sample.content, setup_.cached_as.entry};
      input.found = setup_.cache->Find(input.key);
      input.asked = true;
    }
    sample.cost.source += setup_.clock->Now() - begin;
    if (!identity) sample.unit.needs = Unit::Needs::kInput;
    if (identity) HR_RETURN_IF_ERROR(identity->status);
  }
  if (sample.unit.waits()) return {};
  if (const CachePin& pin = input.found.pin) {
    sample.cost.tier = input.found.tier;
    setup_.cache->KeepCopy(input.key, input.found);
    if (prefix) {
      sample.cost.decoded_hit = true;
      return FromPayload(sample, pin.bytes(), context);
    }
    sample.cost.encoded_hit = true;
    return FromEncoded(sample, pin.bytes(), context);
  }
  HR_TRY(const SourceSample* const read, Read(sample, context));
  if (read == nullptr) return {};
  if (prefix) return MakeAndKeepPrefix(sample, *read, context);
  const CacheKey read_key{read->content, EntryForm()};
  if (auto claim = setup_.cache->TryClaim(read_key, read->bytes.size(), input.found)) {
    claim->Commit(read->bytes, sample.cost.source);
  }
  return FromEncoded(sample, read->bytes, context);
}

Status BatchWork::MakeUncached(const Sample& sample, ThreadContext& context) {
  HR_TRY(const SourceSample* const read, Read(sample, context));
  if (read == nullptr) return {};
  return read->encoded ? FromEncoded(sample, read->bytes, context)
                       : FromPixels(sample, *read, context);
}

// Makes the whole output of the pure prefix for a sample that will be kept, so that every later
// crop can use it. For any other sample it makes only what its own crop needs.
Status BatchWork::MakeAndKeepPrefix(const Sample& sample, const SourceSample& source,
                                    ThreadContext& context) {
  if (!source.encoded) return FromPixels(sample, source, context);
  LargeScratch scratch(context);
  HR_TRY(const TensorSpec spec, AdmitPicture(*this, sample.at, source.bytes, scratch));
  HR_TRY(const std::size_t payload_bytes, CompiledPlan::PayloadBytes(*setup_.prefix, spec));
  const CacheKey key{source.content, setup_.cached_as.entry};  // maybe newer than was looked up
  auto claim = setup_.cache->TryClaim(key, payload_bytes, sample.unit.input.found);
  if (!claim) {
    scratch.Release();
    return FromEncoded(sample, source.bytes, context);
  }
  const SteadyTime begin = setup_.clock->Now();
  HR_RETURN_IF_ERROR(setup_.prefix->RunPrefix(source.bytes, context.ops, &context.payload));
  claim->Commit(context.payload, sample.cost.source + (setup_.clock->Now() - begin));
  return FromPayload(sample, context.payload, context);
}

Result<ops::Params> BatchWork::ParamsFor(const Sample& sample, const TensorSpec& spec,
                                         std::vector<std::int32_t>& drawn) {
  const auto position = static_cast<std::size_t>(sample.position);
  if (!setup_.request.specs.empty() && setup_.request.specs[position] != spec) {
    const auto& planned = setup_.request.specs[position];
    return Unavailable("the sample is " + spec.ToString() + " now, and was planned as " +
                       (planned ? planned->ToString() : "none"))
        .WithDetail(Detail::kOtherSpec);
  }
  return setup_.plan->ParamsOf(setup_.request, position, spec, drawn);
}

Status BatchWork::CheckShape(const Sample& sample, const TensorSpec& spec, ops::Params params) {
  if (!setup_.plan->shapes_may_differ()) return {};
  HR_TRY(const CompiledPlan::Shapes shapes, setup_.plan->ShapesOf(spec, params));
  const auto planned = setup_.layout.values().At(static_cast<std::size_t>(sample.position));
  if (std::ranges::equal(shapes.values, planned)) return {};
  if (setup_.plan->shapes_of_each()) {
    return Unavailable("the sample has another shape now").WithDetail(Detail::kOtherSpec);
  }
  return FailBatch(Unsupported("the samples of the batch have different shapes"));
}

Status BatchWork::FromEncoded(const Sample& sample, ByteSpan encoded, ThreadContext& context) {
  std::vector<std::int32_t> drawn;
  LargeScratch scratch(context);
  HR_TRY(const TensorSpec spec, AdmitPicture(*this, sample.at, encoded, scratch));
  HR_TRY(const ops::Params params, ParamsFor(sample, spec, drawn));
  HR_RETURN_IF_ERROR(CheckShape(sample, spec, params));
  return setup_.runner->Run(encoded, params, context.ops, sample.outs);
}

Status BatchWork::FromPayload(const Sample& sample, ByteSpan payload, ThreadContext& context) {
  std::vector<std::int32_t> drawn;
  HR_TRY(const TensorSpec spec, setup_.prefix->PayloadSource(payload));
  HR_TRY(const ops::Params params, ParamsFor(sample, spec, drawn));
  HR_RETURN_IF_ERROR(CheckShape(sample, spec, params));
  return setup_.runner->RunFromPrefix(payload, params, context.ops, sample.outs);
}

Status BatchWork::FromPixels(const Sample& sample, const SourceSample& source,
                             ThreadContext& context) {
  std::vector<std::int32_t> drawn;
  HR_TRY(const ops::Params params, ParamsFor(sample, source.row, drawn));
  HR_RETURN_IF_ERROR(CheckShape(sample, source.row, params));
  return setup_.runner->RunPixels(source.bytes, source.row, params, context.ops, sample.outs);
}

void BatchWork::FailSample(std::int32_t position, const Status& status) {
  const std::lock_guard lock(mutex_);
  failures_.push_back(
      {position, status.code(), status.message().substr(0, kMostMessageBytes), status.detail()});
}

Status BatchWork::FailBatch(const Status& status) {
  Cancel();
  const std::lock_guard lock(mutex_);
  if (batch_error_.ok()) batch_error_ = status;
  return status;
}

void BatchWork::Finish() { on_done_(std::static_pointer_cast<BatchWork>(shared_from_this())); }

wire::BatchDone BatchWork::TakeAnswer() {
  wire::BatchDone done;
  done.session = setup_.request.session;
  done.iteration = setup_.request.iteration;
  done.batch = setup_.request.batch;
  done.attempt = setup_.request.attempt;
  done.needed_bytes = setup_.layout.bytes();
  done.tail_node = setup_.before_tail ? setup_.request.tail_node : 0;
  const std::lock_guard lock(mutex_);
  done.status = batch_error_;
  if (done.status.ok() && cancelled()) done.status = Cancelled("the iteration was cancelled");
  if (done.status.ok()) {
    done.used_bytes = setup_.layout.bytes();
    done.fields = setup_.layout.fields();
    done.failures = std::move(failures_);
    done.witnesses = std::move(witnesses_);
    std::ranges::sort(done.failures, {}, &wire::SampleFailure::position);
  }
  costs_.Tell(setup_.cache.get(), setup_.clock->Now(), done);
  return done;
}

}  // namespace headrace::dataworker
