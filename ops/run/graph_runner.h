#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/core/graph.h"
#include "ops/run/runner.h"

namespace headrace::ops {

// Runs a compiled graph on samples: each of its chains with the windows and folds of its own, on a
// picture that is decoded once for all chains that begin with it. A graph of one chain runs as that
// chain does. Worker only. Immutable; thread-safe: every thread brings its own OpContext.
//
// `encoded`, below: the sample's file; a FileGroup (base/file_group.h) if graph().files() > 1. A
// group of another number of files is kInvalidArgument.
class GraphRunner {
 public:
  // kUnsupported: this worker has no kernel for a node.
  static Result<GraphRunner> Make(std::shared_ptr<const Graph> graph);

  // The runner that leaves out the tail. REQUIRES: graph().tail() > 0.
  [[nodiscard]] GraphRunner BeforeTail() const;

  // The spec of a sample, for Graph::Draw. Errors as ChainRunner::ReadHeader; kUnsupported: pictures
  // of several sizes.
  [[nodiscard]] Result<TensorSpec> ReadSource(ByteSpan encoded) const;
  // The values, in the order of Graph::values. `params` come from Graph::Draw with the spec of this
  // sample. Errors as ChainRunner::Run. REQUIRES: outs.size() == values().size().
  Status Run(ByteSpan encoded, Params params, OpContext& context,
             std::span<const MutableByteSpan> outs) const;
  // As ChainRunner::RunPrefix, of the prefixes of all pictures. Of several, the payload is a
  // FileGroup of theirs.
  Status RunPrefix(ByteSpan encoded, OpContext& context, Bytes* payload) const;
  // As ChainRunner::PayloadSource.
  [[nodiscard]] Result<TensorSpec> PayloadSource(ByteSpan payload) const;
  // Payload of RunPrefix -> the values; the same bits as Run. Errors as ChainRunner::RunFromPrefix.
  Status RunFromPrefix(ByteSpan payload, Params params, OpContext& context,
                       std::span<const MutableByteSpan> outs) const;
  // A row of an array -> the values. Errors as ChainRunner::RunPixels.
  Status RunPixels(ByteSpan pixels, const TensorSpec& spec, Params params, OpContext& context,
                   std::span<const MutableByteSpan> outs) const;

  [[nodiscard]] const Graph& graph() const { return *graph_; }

 private:
  struct Working;
  // A sample that is made.
  struct Sample {
    Params params;
    OpContext& context;
    std::span<const MutableByteSpan> outs;
  };
  // Where a chain's value belongs.
  struct Place {
    std::size_t value = 0, part = 0;
  };
  [[nodiscard]] Result<std::vector<ByteSpan>> FilesOf(ByteSpan encoded) const;
  [[nodiscard]] Result<std::vector<ByteSpan>> PayloadsOf(ByteSpan payload) const;
  [[nodiscard]] Status Check(const Sample& sample) const;
  template <typename RunChain>
  Status ForEachChain(std::span<const std::size_t> chains, const Sample& sample,
                      RunChain run) const;
  Status RunPicture(const Graph::Picture& picture, ByteSpan file, const Sample& sample) const;
  Status RunOnOneImage(const Graph::Picture& picture, ByteSpan file, const Sample& sample) const;
  Status RunFromPayload(const Graph::Picture& picture, ByteSpan payload,
                        const Sample& sample) const;

  std::shared_ptr<const Graph> graph_;
  std::vector<ChainRunner> runners_;  // of its chains
  std::vector<Place> places_;         // of their values
};

}  // namespace headrace::ops
