#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "ops/core/chain.h"
#include "ops/vision/fold/fold.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// Plans a chain, or a part of it, for one sample: the operators that compute, what is folded
// between them, and which part of every image is needed. It is made without pixels, in two passes:
// from the start for the sizes, then back from the end for the windows.
//
// Reused from sample to sample; not thread-safe.
class RunPlan {
 public:
  struct Step {
    int node = 0;  // an operator that computes
    // From the output of the step before (the source, for the first step) to `reads`.
    FoldedPass before;
    ImageSpec in;   // all of its input
    ImageSpec out;  // all of its output
    Window reads;   // window of `in`
    Window makes;   // window of `out`
  };

  // Plans nodes [first, last) of the chain for a source of spec `in`; `schemas` and `kernels` are
  // its halves, null for gates; `params` are those of the whole chain.
  // kInvalidArgument: they do not fit the source.
  Status Make(const Chain& chain, std::span<const ImageSchema* const> schemas,
              std::span<const std::shared_ptr<const ImageKernel>> kernels, int first, int last,
              const ImageSpec& in, Params params, OpContext& context);

  [[nodiscard]] std::span<const Step> steps() const { return {steps_.data(), count_}; }
  // The window of the source that is needed.
  [[nodiscard]] const Window& source() const { return source_; }
  // True if the part of the source is the sample itself, so that it is to be decoded packed.
  [[nodiscard]] bool wants_packed() const {
    return count_ == 0 && end_.spec().layout == Layout::kHwc;
  }
  // From the last step's output (the source, if nothing computes) to the sample.
  [[nodiscard]] const FoldedPass& end() const { return end_; }

 private:
  Status Add(int node, const ImageSchema& schema, const ImageKernel& kernel, Params params);

  std::vector<int> route_;   // of a chain with gates
  std::vector<Step> steps_;  // the first count_ of them; the others keep their memory
  std::size_t count_ = 0;
  Window source_;
  FoldedPass end_;
};

// The params of one node, from those of the chain. REQUIRES: `params` are for the whole chain, or
// the node and all nodes before it have none.
[[nodiscard]] Params ParamsOf(const Chain& chain, int node, Params params);

}  // namespace headrace::ops
