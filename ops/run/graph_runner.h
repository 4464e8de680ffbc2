#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/core/graph.h"
#include "ops/run/runner.h"

namespace headrace::ops {

// Runs a compiled graph on samples: each of its chains with the windows and folds of its own, on an
// image that is decoded once for all of them. A graph of one chain runs as that chain does. Worker
// only. Immutable; thread-safe: every thread brings its own OpContext.
class GraphRunner {
 public:
  // kUnsupported: this worker has no kernel for a node.
  static Result<GraphRunner> Make(std::shared_ptr<const Graph> graph);

  // Encoded file -> the values, in the order of Graph::values. `params` come from Graph::Draw with
  // the spec of this file. Errors as ChainRunner::Run. REQUIRES: outs.size() == values().size().
  Status Run(ByteSpan encoded, Params params, OpContext& context,
             std::span<const MutableByteSpan> outs) const;
  // As ChainRunner::RunPrefix, of the prefix that all values are made of.
  Status RunPrefix(ByteSpan encoded, OpContext& context, Bytes* payload) const {
    return runners_[0].RunPrefix(encoded, context, payload);
  }
  // Payload of RunPrefix -> the values; the same bits as Run. Errors as ChainRunner::RunFromPrefix.
  Status RunFromPrefix(ByteSpan payload, Params params, OpContext& context,
                       std::span<const MutableByteSpan> outs) const;
  // A row of an array -> the values. Errors as ChainRunner::RunPixels.
  Status RunPixels(ByteSpan pixels, const TensorSpec& spec, Params params, OpContext& context,
                   std::span<const MutableByteSpan> outs) const;

  [[nodiscard]] const Graph& graph() const { return *graph_; }

 private:
  struct Working;
  template <typename RunChain>
  Status ForEachChain(Params params, OpContext& context, std::span<const MutableByteSpan> outs,
                      RunChain run) const;
  Status RunOnOneImage(ByteSpan encoded, Params params, OpContext& context,
                       std::span<const MutableByteSpan> outs) const;

  std::shared_ptr<const Graph> graph_;
  std::vector<ChainRunner> runners_;  // of its chains
};

}  // namespace headrace::ops
