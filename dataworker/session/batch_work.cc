#include "dataworker/session/batch_work.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/torch/torch_generator.h"

namespace headrace::dataworker {
namespace {

// What a prefix payload adds to its pixels, at most.
constexpr std::size_t kPayloadOverhead = 256;
// A scratch buffer larger than this, because of one huge file, is given back.
constexpr std::size_t kKeptFileBytes = std::size_t{32} << 20;

std::uint64_t Nanos(Duration duration) {
  return static_cast<std::uint64_t>(std::max<Duration::rep>(duration.count(), 0));
}

}  // namespace

Status BatchWork::CheckRequest(const CompiledPlan& plan, const wire::BatchRequest& request) {
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

std::vector<std::int32_t> BatchWork::Positions(const wire::BatchRequest& request) {
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

// The rest of a unit, after a slow tier has answered. The batch counts it as one of its own.
class BatchWork::RestOfUnit final : public Work {
 public:
  RestOfUnit(std::shared_ptr<BatchWork> batch, Unit unit)
      : Work(1, batch->iteration()), batch_(std::move(batch)), unit_(std::move(unit)) {}

 protected:
  void Run(std::int64_t /*unit*/, ThreadContext& context) override {
    if (!batch_->cancelled()) batch_->RunPart(std::move(unit_), context);
  }
  void Finish() override {
    unit_.found.pin = CachePin();
    batch_->Drop(1);
  }

 private:
  const std::shared_ptr<BatchWork> batch_;
  Unit unit_;
};

BatchWork::BatchWork(Setup setup, OnDone on_done)
    : Work(static_cast<std::int64_t>(Positions(setup.request).size()), setup.request.iteration),
      setup_(std::move(setup)),
      on_done_(std::move(on_done)),
      positions_(Positions(setup_.request)),
      tiers_(setup_.cache ? setup_.cache->store().tiers() : 0) {}

MutableByteSpan BatchWork::Row(std::size_t field, std::int32_t position) const {
  const std::size_t bytes = setup_.layout.row_bytes[field];
  return setup_.memory.subspan(
      setup_.layout.fields[field].offset + bytes * static_cast<std::size_t>(position), bytes);
}

void BatchWork::Run(std::int64_t unit, ThreadContext& context) {
  RunPart({.position = positions_[static_cast<std::size_t>(unit)]}, context);
}

void BatchWork::RunPart(Unit unit, ThreadContext& context) {
  const SteadyTime begin = setup_.clock->Now();
  const Duration cpu = setup_.clock->ThreadCpu();
  if (!started_.exchange(true)) queue_ns_ = Nanos(begin - setup_.received);
  const Status status = MakeSample(unit, context);
  if (!status.ok()) FailSample(unit.position, status, unit.cost.size_changed);
  if (context.file.capacity() > kKeptFileBytes) context.file = ScratchBuffer();
  // In this order. A thread beyond its quota is held when it asks the kernel for its CPU time. That
  // wait is the sample's, not the queue's.
  unit.cost.cpu += setup_.clock->ThreadCpu() - cpu;
  unit.cost.total += setup_.clock->Now() - begin;
  if (!unit.found.later) {
    Count(unit.cost);
    return;
  }
  // No thread is at the sample until the answer. Then it goes on as work of its own.
  Postpone();
  const CacheKey key = unit.key;
  const CacheLookup stopped = std::exchange(unit.found, CacheLookup());
  auto self = std::static_pointer_cast<BatchWork>(shared_from_this());
  setup_.cache->store().FindLater(
      setup_.cache->job(), key, stopped, [self, waiting = std::move(unit)](CacheLookup found) {
        Unit answered = waiting;
        answered.found = std::move(found);
        self->setup_.resume(std::make_shared<RestOfUnit>(self, std::move(answered)));
      });
}

void BatchWork::Count(const SampleCost& cost) {
  total_ns_ += Nanos(cost.total);
  source_ns_ += Nanos(cost.source);
  source_bytes_ += cost.source_bytes;
  // Only a hit that saves the decoding is a cheaper path.
  (cost.decoded_hit ? hit_cpu_ns_ : miss_cpu_ns_) += Nanos(cost.cpu);
  decoded_hits_ += cost.decoded_hit ? 1 : 0;
  encoded_hits_ += cost.encoded_hit ? 1 : 0;
  misses_ += cost.miss ? 1 : 0;
  if (!cost.decoded_hit && !cost.encoded_hit) return;
  TierCount& tier = tiers_[cost.tier];
  (cost.decoded_hit ? tier.decoded : tier.encoded) += 1;
  if (cost.decoded_hit) tier.cpu_ns += Nanos(cost.cpu);
}

Result<SourceSample> BatchWork::Read(const Sample& sample, ThreadContext& context) {
  const SteadyTime begin = setup_.clock->Now();
  Result<SourceSample> source = sample.at.source->Read(sample.at.row, context.file);
  sample.cost.source += setup_.clock->Now() - begin;
  sample.cost.miss = true;
  // Arrays came with the plan: nothing is fetched for a sample.
  if (source.ok() && sample.at.source->cacheable()) {
    sample.cost.source_bytes += source->bytes.size();
  }
  return source;
}

Status BatchWork::MakeSample(Unit& unit, ThreadContext& context) {
  const std::int32_t position = unit.position;
  const std::int64_t key = setup_.request.keys[static_cast<std::size_t>(position)];
  HR_TRY(const CompiledPlan::Location at, setup_.plan->Locate(key));
  const std::vector<FieldSpec>& fields = setup_.plan->fields();
  if (setup_.plan->has_graph()) {
    const std::vector<std::int32_t>& value_of_field = setup_.plan->value_of_field();
    std::vector<MutableByteSpan> outs(setup_.layout.values.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (value_of_field[i] < 0) continue;
      MutableByteSpan& out = outs[static_cast<std::size_t>(value_of_field[i])];
      if (out.data() == nullptr) out = Row(i, position);
    }
    const Sample sample{position, at, outs, unit, unit.cost};
    HR_RETURN_IF_ERROR(MakeValues(sample, context));
    if (unit.found.later) return {};
    HR_RETURN_IF_ERROR(BearWitness(sample));
    for (std::size_t i = 0; i < fields.size(); ++i) {  // the same value in a second field
      if (value_of_field[i] < 0) continue;
      const MutableByteSpan first = outs[static_cast<std::size_t>(value_of_field[i])];
      const MutableByteSpan out = Row(i, position);
      if (out.data() != first.data()) std::copy_n(first.begin(), out.size(), out.begin());
    }
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].kind != FieldSpec::Kind::kArray) continue;
    HR_RETURN_IF_ERROR(at.source->CopyColumn(fields[i].index, at.row, Row(i, position)));
  }
  return {};
}

// After the sample is made: if a file is replaced meanwhile, the witness names the new one, which
// the trainer sees too.
Status BatchWork::BearWitness(const Sample& sample) {
  const wire::BatchRequest& request = setup_.request;
  const auto asked = [&](const std::vector<std::int32_t>& positions) {
    return std::ranges::find(positions, sample.position) != positions.end();
  };
  if (!sample.at.source->cacheable() || !asked(request.witness)) return {};
  const SteadyTime begin = setup_.clock->Now();
  HR_TRY(const FileWitness file,
         sample.at.source->BearWitness(sample.at.row, asked(request.witness_whole)));
  sample.cost.source += setup_.clock->Now() - begin;
  const std::lock_guard lock(mutex_);
  witnesses_.push_back({sample.position, file});
  return {};
}

Status BatchWork::MakeValues(const Sample& sample, ThreadContext& context) {
  const CacheForm form = setup_.plan->cache_form();
  if (setup_.cache == nullptr || form == CacheForm::kNone || !sample.at.source->cacheable()) {
    return MakeUncached(sample, context);
  }
  Unit& unit = sample.unit;
  if (!unit.asked) {
    const SteadyTime begin = setup_.clock->Now();
    HR_TRY(const ContentIdentity content, sample.at.source->Identify(sample.at.row));
    const bool prefix = form == CacheForm::kPrefix;
    unit.key = {content, prefix ? setup_.plan->graph().prefix_hash() : 0};
    unit.found = setup_.cache->store().Find(setup_.cache->job(), unit.key);
    unit.asked = true;
    sample.cost.source += setup_.clock->Now() - begin;
  }
  if (unit.found.later) return {};
  if (const CachePin& pin = unit.found.pin) {
    sample.cost.tier = unit.found.tier;
    if (form == CacheForm::kPrefix) {
      sample.cost.decoded_hit = true;
      return FromPayload(sample, pin.bytes(), context);
    }
    sample.cost.encoded_hit = true;
    return FromEncoded(sample, pin.bytes(), context);
  }
  HR_TRY(const SourceSample source, Read(sample, context));
  if (form == CacheForm::kPrefix) return MakeAndKeepPrefix(sample, source, context);
  const CacheKey read_key{source.content, 0};
  if (auto claim =
          setup_.cache->store().TryClaim(setup_.cache->job(), read_key, source.bytes.size())) {
    claim.Commit(source.bytes);
  }
  return FromEncoded(sample, source.bytes, context);
}

Status BatchWork::MakeUncached(const Sample& sample, ThreadContext& context) {
  HR_TRY(const SourceSample source, Read(sample, context));
  return source.encoded ? FromEncoded(sample, source.bytes, context)
                        : FromPixels(sample, source, context);
}

// Makes the whole output of the pure prefix for a sample that will be kept, so that every later
// crop can use it. For a sample that will not be kept, or that another thread is making, it makes
// only what its own crop needs.
Status BatchWork::MakeAndKeepPrefix(const Sample& sample, const SourceSample& source,
                                    ThreadContext& context) {
  if (!source.encoded) return FromPixels(sample, source, context);
  const auto no_more = [&](std::size_t) { return source.bytes; };
  HR_TRY(const TensorSpec spec, ops::ChainRunner::ReadHeader(source.bytes, no_more));
  HR_TRY(const CompiledPlan::Shapes shapes, setup_.plan->ShapesOf(spec));
  // The content that was read, which may be newer than the one that was looked up.
  const CacheKey key{source.content, setup_.plan->graph().prefix_hash()};
  auto claim = setup_.cache->store().TryClaim(setup_.cache->job(), key,
                                              shapes.prefix.bytes() + kPayloadOverhead);
  if (!claim) return FromEncoded(sample, source.bytes, context);
  HR_RETURN_IF_ERROR(setup_.plan->runner().RunPrefix(source.bytes, context.ops, &context.payload));
  claim.Commit(context.payload);
  const Status status = FromPayload(sample, context.payload, context);
  if (context.payload.capacity() > kKeptFileBytes) Bytes().swap(context.payload);
  return status;
}

Result<ops::Params> BatchWork::ParamsFor(const Sample& sample, const TensorSpec& spec,
                                         std::vector<std::int32_t>& drawn) {
  const std::size_t words = setup_.plan->param_words();
  const auto position = static_cast<std::size_t>(sample.position);
  if (setup_.plan->rng() != RngMode::kSample || words == 0) {
    HR_RETURN_IF_ERROR(CheckSize(sample, spec));
    if (words == 0) return ops::Params();
    return ops::Params(setup_.request.params).subspan(position * words, words);
  }
  drawn.resize(words);
  ops::TorchGenerator generator(setup_.request.seeds[position]);
  std::vector<TensorSpec> values(setup_.layout.values.size());
  HR_RETURN_IF_ERROR(setup_.plan->graph().Draw(spec, generator, drawn, values));
  return ops::Params(drawn);
}

Status BatchWork::CheckSize(const Sample& sample, const TensorSpec& spec) const {
  if (setup_.request.specs.empty()) return {};
  const auto& planned = setup_.request.specs[static_cast<std::size_t>(sample.position)];
  if (planned == spec) return {};
  sample.cost.size_changed = true;
  return Unavailable("the sample is " + spec.ToString() + " now, and was planned as " +
                     (planned ? planned->ToString() : "none"));
}

Status BatchWork::CheckShape(const TensorSpec& spec) {
  HR_TRY(const CompiledPlan::Shapes shapes, setup_.plan->ShapesOf(spec));
  if (shapes.values == setup_.layout.values) return {};
  Status error = Unsupported("the samples of the batch have different shapes");
  FailBatch(error);
  return error;
}

Status BatchWork::FromEncoded(const Sample& sample, ByteSpan encoded, ThreadContext& context) {
  std::vector<std::int32_t> drawn;
  TensorSpec spec;
  // Only callers that need the header read it: a runner checks its output's size itself.
  const bool shape = !setup_.plan->fixed_values() || setup_.plan->rng() == RngMode::kSample;
  if (shape || !setup_.request.specs.empty()) {
    const auto no_more = [&](std::size_t) { return encoded; };
    HR_TRY(spec, ops::ChainRunner::ReadHeader(encoded, no_more));
  }
  HR_TRY(const ops::Params params, ParamsFor(sample, spec, drawn));
  if (shape) HR_RETURN_IF_ERROR(CheckShape(spec));
  return setup_.plan->runner().Run(encoded, params, context.ops, sample.outs);
}

Status BatchWork::FromPayload(const Sample& sample, ByteSpan payload, ThreadContext& context) {
  std::vector<std::int32_t> drawn;
  HR_TRY(const TensorSpec spec, ops::ChainRunner::PayloadSource(payload));
  HR_TRY(const ops::Params params, ParamsFor(sample, spec, drawn));
  HR_RETURN_IF_ERROR(CheckShape(spec));
  return setup_.plan->runner().RunFromPrefix(payload, params, context.ops, sample.outs);
}

Status BatchWork::FromPixels(const Sample& sample, const SourceSample& source,
                             ThreadContext& context) {
  std::vector<std::int32_t> drawn;
  HR_TRY(const ops::Params params, ParamsFor(sample, source.row, drawn));
  HR_RETURN_IF_ERROR(CheckShape(source.row));
  return setup_.plan->runner().RunPixels(source.bytes, source.row, params, context.ops,
                                         sample.outs);
}

void BatchWork::FailSample(std::int32_t position, const Status& status, bool size_changed) {
  const std::lock_guard lock(mutex_);
  failures_.push_back(
      {position, status.code(), status.message().substr(0, kMostMessageBytes), size_changed});
}

void BatchWork::FailBatch(const Status& status) {
  Cancel();
  const std::lock_guard lock(mutex_);
  if (batch_error_.ok()) batch_error_ = status;
}

void BatchWork::Finish() { on_done_(std::static_pointer_cast<BatchWork>(shared_from_this())); }

wire::BatchDone BatchWork::TakeAnswer() {
  wire::BatchDone done;
  done.session = setup_.request.session;
  done.iteration = setup_.request.iteration;
  done.batch = setup_.request.batch;
  done.attempt = setup_.request.attempt;
  done.needed_bytes = setup_.layout.bytes;
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    const TierCount& tier = tiers_[i];
    if (tier.decoded == 0 && tier.encoded == 0) continue;
    done.tiers.push_back(
        {setup_.cache->store().tier_name(i), tier.decoded, tier.encoded, tier.cpu_ns});
  }
  const std::lock_guard lock(mutex_);
  done.status = batch_error_;
  if (done.status.ok() && cancelled()) done.status = Cancelled("the iteration was cancelled");
  if (done.status.ok()) {
    done.used_bytes = setup_.layout.bytes;
    done.fields = setup_.layout.fields;
    done.failures = std::move(failures_);
    done.witnesses = std::move(witnesses_);
    std::sort(done.failures.begin(), done.failures.end(),
              [](const auto& a, const auto& b) { return a.position < b.position; });
  }
  done.cost = {.source_ns = source_ns_,
               .compute_ns = total_ns_ - std::min<std::uint64_t>(source_ns_, total_ns_),
               .queue_ns = queue_ns_,
               .decoded_hits = decoded_hits_,
               .encoded_hits = encoded_hits_,
               .misses = misses_,
               .hit_cpu_ns = hit_cpu_ns_,
               .miss_cpu_ns = miss_cpu_ns_,
               .source_bytes = source_bytes_,
               .wall_ns = Nanos(setup_.clock->Now() - setup_.received),
               .refused_samples = static_cast<std::uint32_t>(done.failures.size())};
  return done;
}

}  // namespace headrace::dataworker
