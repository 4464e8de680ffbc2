#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ops/core/op.h"

namespace headrace::ops {

// A gate decides for each sample which of the nodes that follow it run, and in which order. They are
// its parts, one after the other in the list; after them the chain goes on. A gate itself changes
// nothing. Its draws come first, then those of the parts that run, in the order in which they run.
//
//   random_apply(parts: [2])  color_jitter  grayscale  |  random_horizontal_flip ...
//
// Each part leaves type and shape as they are, so these do not depend on the draws.
class GateSchema : public OpSchema {
 public:
  // Most nodes of a gate: more than any program has.
  static constexpr int kMostNodes = 256;
  // `parts`: the number of nodes in each part. REQUIRES: there are parts, and none is empty.
  explicit GateSchema(std::vector<int> parts) : parts_(std::move(parts)) {}

  [[nodiscard]] Purity purity() const final { return Purity::kRandom; }
  Status Infer(const TensorSpec& in, TensorSpec* out) const final {
    *out = in;
    return Status::Ok();
  }
  [[nodiscard]] std::span<const int> parts() const { return parts_; }
  // Gives the numbers of the parts that run, in order. kInvalidArgument: params that Draw never
  // makes.
  virtual Status Route(Params params, std::vector<int>* route) const = 0;

 private:
  std::vector<int> parts_;
};

}  // namespace headrace::ops
