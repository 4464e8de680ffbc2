#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "ops/core/chain.h"
#include "ops/core/op.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {

// What a chain, or a part of it, consists of for one sample: the operators that compute, what is
// folded between them, and which part of every image is needed. Made without pixels, in two goes:
// from the start for the sizes, then back from the end for the windows.
//
// Reused from sample to sample; not thread-safe.
class RunPlan {
 public:
  struct Step {
    int node = 0;  // an operator that computes
    // From what the step before makes (the source, for the first) to `reads`.
    FoldedPass before;
    ImageSpec in;   // all of its input
    ImageSpec out;  // all of its output
    Window reads;   // of `in`
    Window makes;   // of `out`
  };

  // Plans nodes [first, last) for a source of spec `in`; `params` are those of the whole chain.
  // kInvalidArgument: they do not fit the source.
  Status Make(const Chain& chain, std::span<const std::shared_ptr<const Kernel>> kernels, int first,
              int last, const ImageSpec& in, Params params, OpContext& context);

  [[nodiscard]] std::span<const Step> steps() const { return {steps_.data(), count_}; }
  // What of the source is needed.
  [[nodiscard]] const Window& source() const { return source_; }
  // From what the last step makes (the source, when nothing computes) to the sample.
  [[nodiscard]] const FoldedPass& end() const { return end_; }

 private:
  std::vector<Step> steps_;  // the first count_ of them; the others keep their memory
  std::size_t count_ = 0;
  Window source_;
  FoldedPass end_;
};

// The parameters of one node among those of the chain. REQUIRES: params are of the whole chain, or
// the node and all nodes before it have none.
[[nodiscard]] Params ParamsOf(const Chain& chain, int node, Params params);

}  // namespace headrace::ops
