#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/core/chain.h"
#include "ops/vision/image.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

class RunPlan;  // ops/run/run_plan.h

// Runs a compiled chain on samples, in one pass where operators can be fused: crop-restricted
// decode, and one table for the pointwise tail, written straight to the batch. Worker only.
// Immutable; thread-safe: every thread brings its own OpContext.
class ChainRunner {
 public:
  // kUnsupported: this worker has no kernel for a node.
  static Result<ChainRunner> Make(std::shared_ptr<const Chain> chain);

  // The same chain without what its tail makes of the values: samples are uint8 in CHW, of which a
  // Finisher makes the same bits. It still takes the params of the whole chain. REQUIRES:
  // chain().tail() > 0.
  [[nodiscard]] ChainRunner BeforeTail() const;

  // Reads the size of an encoded image from its header alone, as PIL's Image.open reports it. If
  // the chain's decode does convert("RGB"), the size is the one after it. If the header extends
  // past `head`, it calls `more` with the total length wanted. `more` returns the longer span, or
  // the same one at end of file. kUnsupported: a format or variant that only PIL reads. kDataLoss:
  // damaged.
  static Result<TensorSpec> ReadHeader(ByteSpan head,
                                       const std::function<ByteSpan(std::size_t)>& more);

  // Encoded file -> finished sample. `params` come from Chain::Draw with the spec of this file.
  // out.size() must be the bytes of the drawn output (kInvalidArgument otherwise: the file
  // changed). Damage on which PIL would raise is an error here (kDataLoss), never other pixels.
  Status Run(ByteSpan encoded, Params params, OpContext& context, MutableByteSpan out) const;
  // Runs only the pure prefix and makes a self-describing payload for the cache (spec + packed
  // pixels). Errors of the file as Run.
  Status RunPrefix(ByteSpan encoded, OpContext& context, Bytes* payload) const;
  // Spec of the source image from which a payload was made (Draw needs it). kDataLoss: not a
  // payload.
  static Result<TensorSpec> PayloadSource(ByteSpan payload);
  // Payload of RunPrefix -> finished sample; the same bits as Run. kDataLoss: not a payload of this
  // chain.
  Status RunFromPrefix(ByteSpan payload, Params params, OpContext& context,
                       MutableByteSpan out) const;
  // Pixels in memory (array sources), a dense row of `spec` -> finished sample. kInvalidArgument:
  // another number of bytes than `spec` has, or params of another image.
  Status RunPixels(ByteSpan pixels, const TensorSpec& spec, Params params, OpContext& context,
                   MutableByteSpan out) const;

  // Spec of the chain's output for a source of spec `in`. Errors as OpSchema::Infer.
  Result<TensorSpec> OutputSpec(const TensorSpec& in) const;

  [[nodiscard]] const Chain& chain() const { return *chain_; }

 private:
  friend class GraphRunner;  // runs several chains on one decoded image
  struct Source;
  Status Finish(const Source& source, const ImageSpec& in, int first, Params params,
                OpContext& context, MutableByteSpan out) const;
  Status Execute(const Source& source, int first, int last, int tail, Params params,
                 OpContext& context, MutableByteSpan out) const;
  // What Run writes, for a chain that ends with `end`.
  [[nodiscard]] ImageSpec SampleOf(ImageSpec end) const;
  // Checks that a source of spec `in`, of which nodes [0, first) make `given`, makes `out`.
  Status Check(const ImageSpec& in, int first, const ImageSpec& given, Params params,
               OpContext& context, MutableByteSpan out) const;
  // Does what Run does before it decodes a file whose image has the spec `in`.
  Status Prepare(const ImageSpec& in, Params params, OpContext& context, MutableByteSpan out,
                 RunPlan* plan) const;
  Status Decode(ByteSpan file, const Window& window, bool packed, OpContext& context,
                ScratchBuffer& memory, Image* image) const;
  // Makes the sample from an image that holds plan.source().
  Status Compute(Image image, const RunPlan& plan, Params params, OpContext& context,
                 MutableByteSpan out) const;

  // The values after the first nodes, as many as `after_node` has, for a sample with these params.
  Status Shapes(const ImageSpec& in, Params params, std::span<ImageSpec> after_node) const;

  std::shared_ptr<const Chain> chain_;
  std::vector<const ImageSchema*> schemas_;  // the chain's; null for gates, like their kernels
  std::vector<std::shared_ptr<const ImageKernel>> kernels_;
  int tail_ = 0;  // nodes from here on map nothing: all of them, or Chain::tail()
  Bytes table_;   // what becomes of uint8 values in the last pass; empty: nothing
  // The same for the passes to operators that compute on float32, by their nodes: of those that may
  // be the first to do so.
  std::map<int, Bytes> float_tables_;
};

}  // namespace headrace::ops
