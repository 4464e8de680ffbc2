#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/torch/torch_generator.h"

// torch.exp(float32) on the CPU is not correctly rounded for about one input in a hundred. The
// torch build decides which inputs these are. The client evaluates torch.exp once over every value
// of torch.empty(1).uniform_(low, high). It keeps the exceptions as the plan's constant
// "torch_exp":
//
//   u32 magic 'HRTX', u32 version 1, u32 ranges, u32 count
//   ranges x { f32 low, f32 high, u32 rounding }     what the table covers
//   f32 inputs[count]                                ascending, no duplicates
//   f32 outputs[count]                               torch.exp(inputs[i])
//
// Little-endian. Inputs of a covered range that are not listed have the value ExpFloat(input).
namespace headrace::ops {

// The arguments of a uniform_ whose result goes into torch.exp.
struct ExpRange {
  float low = 0;
  float high = 0;
  TorchGenerator::Rounding rounding = TorchGenerator::Rounding::kFused;
  friend bool operator==(const ExpRange&, const ExpRange&) = default;
};

// exp rounded to float32: the same bits on every machine (double arithmetic without libm).
// REQUIRES: |x| <= 80.
[[nodiscard]] float ExpFloat(float x);

// Evaluates torch.exp on contiguous float32: out[i] = torch.exp(in[i]).
using ExpFunction = std::function<Status(std::span<const float> in, std::span<float> out)>;

// Builds the constant for these ranges. Evaluates O(2^24) values for each range, in about 0.1 s.
// kInvalidArgument: a range that is empty, not finite or beyond +-80.
Result<Bytes> BuildTorchExpTable(std::span<const ExpRange> ranges, const ExpFunction& torch_exp);

// A parsed constant. Immutable.
class TorchExpTable {
 public:
  // Parses a constant. Equal constants in a process share one table while it is held. Thread-safe.
  // kDataLoss: not a table.
  static Result<std::shared_ptr<const TorchExpTable>> Parse(ByteSpan constant);

  [[nodiscard]] bool Covers(const ExpRange& range) const;
  // torch.exp(x). REQUIRES: x comes from a covered range.
  [[nodiscard]] float operator()(float x) const;
  [[nodiscard]] std::size_t size() const { return exceptions_.size(); }

  struct Exception {
    float input, output;
  };

 private:
  static Result<std::shared_ptr<const TorchExpTable>> Read(ByteSpan constant);
  [[nodiscard]] bool IsOf(ByteSpan constant) const;  // bit by bit
  void MakeIndex();
  [[nodiscard]] std::size_t Bucket(float x) const;

  std::vector<ExpRange> ranges_;
  std::vector<Exception> exceptions_;  // ascending inputs
  // The inputs' range in equal pieces: the inputs of piece b are [starts_[b], starts_[b + 1]). A
  // look-up costs the trainer two cache lines; a binary search costs a dozen.
  std::vector<std::uint32_t> starts_;
  float first_ = 0;
  double scale_ = 0;
};

}  // namespace headrace::ops
