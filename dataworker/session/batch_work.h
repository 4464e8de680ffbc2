#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "dataworker/peers/cache_lease.h"
#include "dataworker/session/batch_costs.h"
#include "dataworker/session/compiled_plan.h"
#include "dataworker/session/picture_memory.h"
#include "dataworker/session/sample_inputs.h"
#include "dataworker/share/source_reads.h"
#include "dataworker/share/work.h"
#include "dataworker/share/work_queue.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// One batch of a native plan. Each unit is a sample, made directly at its place in the batch. It
// writes only inside `memory`, and only while its units run.
class BatchWork final : public Work {
 public:
  struct Setup {
    std::shared_ptr<const CompiledPlan> plan;
    wire::BatchRequest request;                // checked: see CheckRequest
    std::shared_ptr<const CacheLease> cache;   // nullptr: this session has none
    CachedAs cached_as = {};                   // what it keeps: one of the plan's
    const ops::GraphRunner* prefix = nullptr;  // the plan's that makes that; null: it has no graph
    const ops::GraphRunner* runner = nullptr;  // the same, or without the tail
    bool before_tail = false;                  // what `runner` and `layout` are
    BatchLayout layout;
    MutableByteSpan memory;            // layout.bytes() of them
    std::shared_ptr<const void> hold;  // keeps `memory`
    bool sends_memory = false;         // the answer carries it; otherwise it is the trainer's
    Clock* clock = nullptr;
    PictureMemory* pictures = nullptr;  // outlives the work
    SteadyTime received;
    std::shared_ptr<SourceReads> reads = {};  // and who asks them
    SourceReads::Asker asker = {};
    std::shared_ptr<FirstAsk> first_ask = {};  // nullptr: see SampleInputs
    // Queues the rest of a unit that waited for a slow tier or a source; any thread.
    std::function<void(std::shared_ptr<Work>, WorkQueue::Place)> resume = {};
  };
  using OnDone = std::function<void(std::shared_ptr<BatchWork>)>;
  // Most characters of a sample's failure, so that those of a batch fit a message.
  static constexpr std::size_t kMostMessageBytes = 1000;

  // REQUIRES: CheckRequest is ok, PositionsOf is not empty.
  BatchWork(Setup setup, OnDone on_done);

  [[nodiscard]] const wire::BatchRequest& request() const { return setup_.request; }
  [[nodiscard]] const Setup& setup() const { return setup_; }
  // In place of a push to the queue, for sources that wait: gets the inputs of all samples, ahead
  // of the threads. `resume` then takes each sample that has its input. REQUIRES: there are units.
  void Begin();
  // The answer. REQUIRES: the work has finished.
  [[nodiscard]] wire::BatchDone TakeAnswer();

 protected:
  void Run(std::int64_t unit, ThreadContext& context) override;
  void Finish() override;

 private:
  // What a sample keeps while it waits for a slow tier or a source.
  struct Unit {
    enum class Needs : std::uint8_t { kNothing, kInput, kWitness };
    std::int32_t position = 0;
    SampleCost cost;
    SampleInput input;
    Needs needs = Needs::kNothing;  // of the source
    bool made = false;              // all but its witness
    [[nodiscard]] bool waits() const { return input.found.later || needs != Needs::kNothing; }
  };
  class RestOfUnit;
  struct Sample {
    std::int32_t position = 0;
    CompiledPlan::Location at;
    std::span<const MutableByteSpan> outs;  // of the graph's values
    Unit& unit;
    SampleCost& cost;  // of the unit
  };
  [[nodiscard]] MutableByteSpan Row(std::size_t field, std::int32_t position) const;
  // Makes a sample, or the part of it up to a wait for a slow tier or a source.
  void RunPart(Unit unit, ThreadContext& context);
  // Has units go on when they have their inputs; a unit, when it has what it waits for.
  void AwaitInputs(std::vector<Unit> units, WorkQueue::Place place);
  void Await(Unit unit);
  void Resume(Unit unit, WorkQueue::Place place);
  // The sample waits if the unit says so.
  Status MakeSample(Unit& unit, ThreadContext& context);
  Status MakeValues(const Sample& sample, ThreadContext& context);
  Status MakeUncached(const Sample& sample, ThreadContext& context);
  // The sample from its source, whatever the caches have. nullptr: it waits for the source.
  Result<const SourceSample*> Read(const Sample& sample, ThreadContext& context);
  Status MakeAndKeepPrefix(const Sample& sample, const SourceSample& source,
                           ThreadContext& context);
  Status FromEncoded(const Sample& sample, ByteSpan encoded, ThreadContext& context);
  Status FromPayload(const Sample& sample, ByteSpan payload, ThreadContext& context);
  Status FromPixels(const Sample& sample, const SourceSample& source, ThreadContext& context);
  // Returns the sample's parameters: the request's, or those drawn into `drawn` for a source image
  // of `spec`. kUnavailable: the request's were drawn for an image of another size.
  Result<ops::Params> ParamsFor(const Sample& sample, const TensorSpec& spec,
                                std::vector<std::int32_t>& drawn);
  // A sample whose shape is not the batch's ends the batch. Where each has its own, one that is not
  // what it was is refused alone (kUnavailable).
  [[nodiscard]] Status CheckShape(const Sample& sample, const TensorSpec& spec, ops::Params params);
  // Notes the identity of the sample's file, if the trainer asks for it.
  Status BearWitness(const Sample& sample);
  void FailSample(std::int32_t position, const Status& status);
  // Returns the error.
  Status FailBatch(const Status& status);

  Setup setup_;
  const OnDone on_done_;
  const std::vector<std::int32_t> positions_;
  BatchCosts costs_;

  std::mutex mutex_;
  // Guarded by mutex_:
  Status batch_error_;
  std::vector<wire::SampleFailure> failures_;
  std::vector<wire::Witness> witnesses_;
};

}  // namespace headrace::dataworker
