#include "ops/run/graph_runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/file_group.h"
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
  const std::span<const Graph::Value> values = graph->values();
  for (std::size_t v = 0; v < values.size(); ++v) {
    for (std::size_t part = 0; part < values[v].count; ++part) {
      runner.places_.push_back({v, part});
    }
  }
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

Result<std::vector<ByteSpan>> GraphRunner::FilesOf(ByteSpan encoded) const {
  const auto files = static_cast<std::size_t>(graph_->files());
  if (files == 1) return std::vector{encoded};
  HR_TRY(const FileGroup group, FileGroup::Open(encoded));
  if (group.size() != files) {
    return InvalidArgument("a sample has " + std::to_string(files) + " files, not " +
                           std::to_string(group.size()));
  }
  std::vector<ByteSpan> all;
  for (std::size_t i = 0; i < files; ++i) all.push_back(group[i]);
  return all;
}

Result<std::vector<ByteSpan>> GraphRunner::PayloadsOf(ByteSpan payload) const {
  const std::size_t pictures = graph_->pictures().size();
  if (pictures == 1) return std::vector{payload};
  HR_TRY(const FileGroup group, FileGroup::Open(payload));
  if (group.size() != pictures) return DataLoss("cached sample is of another pipeline");
  std::vector<ByteSpan> all;
  for (std::size_t i = 0; i < pictures; ++i) all.push_back(group[i]);
  return all;
}

Result<TensorSpec> GraphRunner::ReadSource(ByteSpan encoded) const {
  HR_TRY(const std::vector<ByteSpan> files, FilesOf(encoded));
  TensorSpec first;
  for (std::size_t i = 0; i < files.size(); ++i) {
    HR_TRY(const TensorSpec spec,
           ChainRunner::ReadHeader(files[i], [&](std::size_t) { return files[i]; }));
    if (i == 0) first = spec;
    if (spec != first) {
      return Unsupported("file " + std::to_string(i) + " of the sample is " + spec.ToString() +
                         ", and the first one is " + first.ToString());
    }
  }
  return first;
}

Status GraphRunner::Check(const Sample& sample) const {
  HR_CHECK(sample.outs.size() == graph_->values().size());
  if (sample.params.size() == static_cast<std::size_t>(graph_->param_words())) return Status::Ok();
  return InvalidArgument("a sample has " + std::to_string(graph_->param_words()) +
                         " parameter words, not " + std::to_string(sample.params.size()));
}

// Calls run(i, runner, params, out) for each of these chains. The parts of a stacked value lie one
// after the other in its memory.
template <typename RunChain>
Status GraphRunner::ForEachChain(std::span<const std::size_t> chains, const Sample& sample,
                                 RunChain run) const {
  auto& memory = sample.context.Tool<Working>().params;
  memory.resize(runners_.size());
  for (const std::size_t i : chains) {
    const MutableByteSpan value = sample.outs[places_[i].value];
    const std::size_t parts = graph_->values()[places_[i].value].count;
    if (value.size() % parts != 0) {
      return InvalidArgument("a value of " + std::to_string(value.size()) + " bytes in " +
                             std::to_string(parts) + " parts");
    }
    const std::size_t bytes = value.size() / parts;
    HR_RETURN_IF_ERROR(run(i, runners_[i], graph_->ParamsOf(i, sample.params, memory[i]),
                           value.subspan(places_[i].part * bytes, bytes)));
  }
  return Status::Ok();
}

Status GraphRunner::Run(ByteSpan encoded, Params params, OpContext& context,
                        std::span<const MutableByteSpan> outs) const {
  if (runners_.size() == 1) return runners_[0].Run(encoded, params, context, outs[0]);
  const Sample sample{params, context, outs};
  HR_RETURN_IF_ERROR(Check(sample));
  HR_TRY(const std::vector<ByteSpan> files, FilesOf(encoded));
  for (const Graph::Picture& picture : graph_->pictures()) {
    HR_RETURN_IF_ERROR(RunPicture(picture, files[static_cast<std::size_t>(picture.file)], sample));
  }
  return Status::Ok();
}

Status GraphRunner::RunPicture(const Graph::Picture& picture, ByteSpan file,
                               const Sample& sample) const {
  const ChainRunner& first = runners_[picture.chains.front()];
  if (picture.chains.size() == 1) {
    return ForEachChain(
        picture.chains, sample,
        [&](std::size_t, const ChainRunner& runner, Params own, MutableByteSpan out) {
          return runner.Run(file, own, sample.context, out);
        });
  }
  if (first.chain().pure_prefix() == 1) return RunOnOneImage(picture, file, sample);
  // Operators that all chains share run once, on the whole image.
  Bytes& prefix = sample.context.Tool<Working>().prefix;
  Status status = first.RunPrefix(file, sample.context, &prefix);
  if (status.ok()) status = RunFromPayload(picture, prefix, sample);
  if (prefix.capacity() > kKeptBytes) Bytes().swap(prefix);
  return status;
}

// Decodes the part of the image that the chains need together, and runs each of them on it.
Status GraphRunner::RunOnOneImage(const Graph::Picture& picture, ByteSpan file,
                                  const Sample& sample) const {
  OpContext& context = sample.context;
  Working& working = context.Tool<Working>();
  working.plans.resize(runners_.size());
  HR_TRY(const TensorSpec header, ChainRunner::ReadHeader(file, [&](std::size_t) { return file; }));
  Image image;
  HR_TRY(image.spec, ImageSpec::From(header));
  const std::size_t first = picture.chains.front();
  Window window;
  bool packed = false;
  const Status planned =
      ForEachChain(picture.chains, sample,
                   [&](std::size_t i, const ChainRunner& runner, Params own, MutableByteSpan out) {
                     RunPlan& plan = working.plans[i];
                     const Status status = runner.Prepare(image.spec, own, context, out, &plan);
                     window = i == first ? plan.source() : Around(window, plan.source());
                     packed = packed || plan.wants_packed();
                     return status;
                   });
  if (!planned.ok()) return planned;
  Status status = runners_[first].Decode(file, window, packed, context, working.image, &image);
  if (status.ok()) {
    status = ForEachChain(
        picture.chains, sample,
        [&](std::size_t i, const ChainRunner& runner, Params own, MutableByteSpan out) {
          return runner.Compute(image, working.plans[i], own, context, out);
        });
  }
  if (working.image.capacity() > kKeptBytes) working.image = ScratchBuffer();
  return status;
}

Status GraphRunner::RunPrefix(ByteSpan encoded, OpContext& context, Bytes* payload) const {
  const std::span<const Graph::Picture> pictures = graph_->pictures();
  HR_TRY(const std::vector<ByteSpan> files, FilesOf(encoded));
  if (pictures.size() == 1) return runners_[0].RunPrefix(files[0], context, payload);
  std::vector<Bytes> payloads(pictures.size());
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    HR_RETURN_IF_ERROR(runners_[pictures[i].chains.front()].RunPrefix(
        files[static_cast<std::size_t>(pictures[i].file)], context, &payloads[i]));
    sizes.push_back(payloads[i].size());
  }
  payload->resize(FileGroup::BytesOf(sizes));
  const std::vector<MutableByteSpan> places = FileGroup::Lay(sizes, *payload);
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    std::ranges::copy(payloads[i], places[i].begin());
  }
  return Status::Ok();
}

Result<TensorSpec> GraphRunner::PayloadSource(ByteSpan payload) const {
  HR_TRY(const std::vector<ByteSpan> payloads, PayloadsOf(payload));
  HR_TRY(const TensorSpec first, ChainRunner::PayloadSource(payloads[0]));
  for (const ByteSpan other : payloads) {
    HR_TRY(const TensorSpec spec, ChainRunner::PayloadSource(other));
    if (spec != first) return DataLoss("cached sample is of pictures of several sizes");
  }
  return first;
}

Status GraphRunner::RunFromPrefix(ByteSpan payload, Params params, OpContext& context,
                                  std::span<const MutableByteSpan> outs) const {
  if (runners_.size() == 1) return runners_[0].RunFromPrefix(payload, params, context, outs[0]);
  const Sample sample{params, context, outs};
  HR_RETURN_IF_ERROR(Check(sample));
  HR_TRY(const std::vector<ByteSpan> payloads, PayloadsOf(payload));
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    HR_RETURN_IF_ERROR(RunFromPayload(graph_->pictures()[i], payloads[i], sample));
  }
  return Status::Ok();
}

Status GraphRunner::RunFromPayload(const Graph::Picture& picture, ByteSpan payload,
                                   const Sample& sample) const {
  return ForEachChain(picture.chains, sample,
                      [&](std::size_t, const ChainRunner& runner, Params own, MutableByteSpan out) {
                        return runner.RunFromPrefix(payload, own, sample.context, out);
                      });
}

Status GraphRunner::RunPixels(ByteSpan pixels, const TensorSpec& spec, Params params,
                              OpContext& context, std::span<const MutableByteSpan> outs) const {
  if (runners_.size() == 1) return runners_[0].RunPixels(pixels, spec, params, context, outs[0]);
  const Sample sample{params, context, outs};
  HR_RETURN_IF_ERROR(Check(sample));
  for (const Graph::Picture& picture : graph_->pictures()) {
    HR_RETURN_IF_ERROR(
        ForEachChain(picture.chains, sample,
                     [&](std::size_t, const ChainRunner& runner, Params own, MutableByteSpan out) {
                       return runner.RunPixels(pixels, spec, own, context, out);
                     }));
  }
  return Status::Ok();
}

}  // namespace headrace::ops
