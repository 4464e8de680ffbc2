#include "ops/run/graph_runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "ops/run/run_plan.h"

namespace headrace::ops {
namespace {

// A shared image larger than this, because of one huge file, is not kept.
constexpr std::size_t kKeptBytes = std::size_t{32} << 20;

// The smallest window that holds both.
Window Around(const Window& a, const Window& b) {
  const std::int64_t top = std::min(a.top, b.top), left = std::min(a.left, b.left);
  return {top, left, std::max(a.top + a.height, b.top + b.height) - top,
          std::max(a.left + a.width, b.left + b.width) - left};
}

}  // namespace

// State that a thread keeps from sample to sample.
struct GraphRunner::Working {
  std::vector<RunPlan> plans;  // one a chain
  std::vector<std::vector<std::int32_t>> params;
  ScratchBuffer image;
  Bytes prefix;
};

Result<GraphRunner> GraphRunner::Make(std::shared_ptr<const Graph> graph) {
  GraphRunner runner;
  for (std::size_t i = 0; i < graph->chains(); ++i) {
    HR_TRY(ChainRunner made, ChainRunner::Make(graph->share_chain(i)));
    runner.runners_.push_back(std::move(made));
  }
  runner.graph_ = std::move(graph);
  return runner;
}

GraphRunner GraphRunner::BeforeTail() const {
  HR_CHECK(graph_->tail() > 0);
  GraphRunner runner = *this;
  runner.runners_[0] = runners_[0].BeforeTail();
  return runner;
}

// Calls run(i, runner, params, out) for each chain. The parts of a stacked value lie one after the
// other in its memory.
template <typename RunChain>
Status GraphRunner::ForEachChain(Params params, OpContext& context,
                                 std::span<const MutableByteSpan> outs, RunChain run) const {
  const std::span<const Graph::Value> values = graph_->values();
  HR_CHECK(outs.size() == values.size());
  if (runners_.size() == 1) return run(0, runners_[0], params, outs[0]);
  if (params.size() != static_cast<std::size_t>(graph_->param_words())) {
    return InvalidArgument("a sample has " + std::to_string(graph_->param_words()) +
                           " parameter words, not " + std::to_string(params.size()));
  }
  auto& memory = context.Tool<Working>().params;
  memory.resize(runners_.size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (outs[v].size() % values[v].count != 0) {
      return InvalidArgument("a value of " + std::to_string(outs[v].size()) + " bytes in " +
                             std::to_string(values[v].count) + " parts");
    }
    const std::size_t bytes = outs[v].size() / values[v].count;
    for (std::size_t part = 0; part < values[v].count; ++part) {
      const std::size_t i = values[v].first + part;
      HR_RETURN_IF_ERROR(run(i, runners_[i], graph_->ParamsOf(i, params, memory[i]),
                             outs[v].subspan(part * bytes, bytes)));
    }
  }
  return Status::Ok();
}

Status GraphRunner::Run(ByteSpan encoded, Params params, OpContext& context,
                        std::span<const MutableByteSpan> outs) const {
  if (runners_.size() == 1) return runners_[0].Run(encoded, params, context, outs[0]);
  if (graph_->pure_prefix() == 1) return RunOnOneImage(encoded, params, context, outs);
  // Operators that all chains share run once, on the whole image.
  Bytes& prefix = context.Tool<Working>().prefix;
  Status status = RunPrefix(encoded, context, &prefix);
  if (status.ok()) status = RunFromPrefix(prefix, params, context, outs);
  if (prefix.capacity() > kKeptBytes) Bytes().swap(prefix);
  return status;
}

// Decodes the part of the image that the chains need together, and runs each of them on it.
Status GraphRunner::RunOnOneImage(ByteSpan encoded, Params params, OpContext& context,
                                  std::span<const MutableByteSpan> outs) const {
  Working& working = context.Tool<Working>();
  working.plans.resize(runners_.size());
  HR_TRY(const TensorSpec header,
         ChainRunner::ReadHeader(encoded, [&](std::size_t) { return encoded; }));
  Image image;
  HR_TRY(image.spec, ImageSpec::From(header));
  Window window;
  bool packed = false;
  const Status planned =
      ForEachChain(params, context, outs,
                   [&](std::size_t i, const ChainRunner& runner, Params own, MutableByteSpan out) {
                     RunPlan& plan = working.plans[i];
                     const Status status = runner.Prepare(image.spec, own, context, out, &plan);
                     window = i == 0 ? plan.source() : Around(window, plan.source());
                     packed = packed || plan.wants_packed();
                     return status;
                   });
  if (!planned.ok()) return planned;
  Status status = runners_[0].Decode(encoded, window, packed, context, working.image, &image);
  if (status.ok()) {
    status = ForEachChain(
        params, context, outs,
        [&](std::size_t i, const ChainRunner& runner, Params own, MutableByteSpan out) {
          return runner.Compute(image, working.plans[i], own, context, out);
        });
  }
  if (working.image.capacity() > kKeptBytes) working.image = ScratchBuffer();
  return status;
}

Status GraphRunner::RunFromPrefix(ByteSpan payload, Params params, OpContext& context,
                                  std::span<const MutableByteSpan> outs) const {
  return ForEachChain(params, context, outs,
                      [&](std::size_t, const ChainRunner& runner, Params own, MutableByteSpan out) {
                        return runner.RunFromPrefix(payload, own, context, out);
                      });
}

Status GraphRunner::RunPixels(ByteSpan pixels, const TensorSpec& spec, Params params,
                              OpContext& context, std::span<const MutableByteSpan> outs) const {
  return ForEachChain(params, context, outs,
                      [&](std::size_t, const ChainRunner& runner, Params own, MutableByteSpan out) {
                        return runner.RunPixels(pixels, spec, own, context, out);
                      });
}

}  // namespace headrace::ops
