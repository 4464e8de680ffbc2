#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ops/core/chain.h"
#include "ops/torch/torch_functions.h"

// Helpers of the operators' tests.
namespace headrace::ops::testing {

inline ClientLibraries Libraries(std::string pillow = "13.0.0") {
  return {std::move(pillow), "2.13.0+cpu", "0.28.0", "AVX512"};
}

// A torch whose exp is 1 everywhere: the weights of a blur are equal. It has one solution for every
// equation, which as a perspective is a mild one.
class EvenTorch final : public TorchFunctions {
 public:
  Status Exp(std::span<const float> /*in*/, std::span<float> out) const override {
    std::ranges::fill(out, 1.0F);
    return Status::Ok();
  }
  Status Sum(std::span<const float> in, float* out) const override {
    *out = static_cast<float>(in.size());
    return Status::Ok();
  }
  Status Softmax(std::span<const float> in, std::span<float> out) const override {
    std::ranges::fill(out, 1.0F / static_cast<float>(in.size()));
    return Status::Ok();
  }
  Status LeastSquares(std::span<const double> /*rows*/, std::span<const double> /*values*/,
                      std::span<double> solution) const override {
    std::ranges::copy(std::initializer_list<double>{1.05, 0.02, -1, 0.01, 0.95, 0.5, 5e-4, 3e-4},
                      solution.begin());
    return Status::Ok();
  }
};

inline Node MakeNode(std::string op, Args args = {}) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  return node;
}

inline Args Rgb() { return {{"mode", std::string("RGB")}}; }

inline TensorSpec RgbSpec(std::int64_t height, std::int64_t width) {
  return {DType::kU8, Layout::kHwc, {height, width, 3}};
}

// Makes a table that says that torch.exp is rounded correctly in every range of the nodes. It is
// slow, so it runs once for each set of ranges.
inline Bytes PlainExpTable(const std::vector<Node>& nodes) {
  static std::vector<std::pair<std::vector<ExpRange>, Bytes>> made;
  const Result<Chain> chain = Chain::Compile(nodes, Libraries(), {});
  HR_CHECK(chain.ok());
  const std::vector<ExpRange> ranges = chain->exp_ranges();
  for (const auto& [known, table] : made) {
    if (known == ranges) return table;
  }
  const auto plain = [](std::span<const float> in, std::span<float> out) {
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = ExpFloat(in[i]);
    return Status::Ok();
  };
  Result<Bytes> table = BuildTorchExpTable(ranges, plain);
  HR_CHECK(table.ok());
  return made.emplace_back(ranges, std::move(table).value()).second;
}

// Arguments of an auto-augment operator with `count` magnitudes that are easy to compute with: 0,
// 1/8, 2/8, ... of a shear, a quarter turn, 1, a threshold of 256 and one bit.
inline Args AugmentArgs(std::size_t count) {
  std::vector<double> part, rotate, solarize;
  std::vector<std::int64_t> bits;
  for (std::size_t i = 0; i < count; ++i) {
    part.push_back(0.125 * static_cast<double>(i));
    rotate.insert(rotate.end(), {0, 1, 0, -1});
    solarize.push_back(256 - 32 * static_cast<double>(i));
    bits.push_back(8 - static_cast<std::int64_t>(i % 8));
  }
  return {{"shear_x", part}, {"shear_y", part},   {"rotate", rotate},    {"tensor_rotate", rotate},
          {"enhance", part}, {"posterize", bits}, {"solarize", solarize}};
}

// Compiles nodes after from_array(RGB). The constants live in `table`.
inline Result<Chain> CompileRgb(std::vector<Node> nodes, ByteSpan table = {}) {
  nodes.insert(nodes.begin(), MakeNode("from_array", Rgb()));
  Constants constants;
  if (!table.empty()) constants["torch_exp"] = table;
  return Chain::Compile(std::move(nodes), Libraries(), constants);
}

}  // namespace headrace::ops::testing
