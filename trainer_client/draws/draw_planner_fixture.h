#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/core/generators.h"
#include "trainer_client/draws/draw_planner.h"

// What the tests of the draw planner share: a transform that draws, and the planner's options.
namespace headrace::client {

using ops::Generators;

inline constexpr int kWords = 2;
inline constexpr std::int64_t kBadWidth = 13;  // the framework raises on it

inline TensorSpec Image(std::int64_t height, std::int64_t width) {
  return {DType::kU8, Layout::kHwc, {height, width, 3}};
}

// How much it draws depends on the size and on the numbers, as in RandomResizedCrop, and some of it
// comes in pairs, of which one is kept for the next sample, as in AugMix. Where there are Python's
// generator and NumPy's, they decide over torch's, too.
inline Status FakeDraw(const TensorSpec& in, Generators& rng, ops::MutableParams params,
                       std::vector<TensorSpec>* values) {
  std::uint32_t last = rng.torch.Next();
  for (std::int64_t i = 0; i < in.dims[0] % 5 || last % 4 == 0; ++i) last = rng.torch.Next();
  if (rng.python && rng.python->Below(3) == 0) last ^= rng.torch.Next();
  if (rng.python && last % 3 == 0 && rng.python->Gauss(0, 1) > 0) ++last;
  std::array<std::uint32_t, 2> chosen{};
  if (rng.numpy) rng.numpy->Choose(1 + last % 15, chosen);
  last ^= chosen[0] ^ chosen[1];
  if (in.dims[1] == kBadWidth) return InvalidArgument("too small");
  std::array<float, 2> weights{};
  if (in.dims[0] % 3 == 0) rng.torch.Dirichlet(1, std::span(weights).first(1 + last % 2));
  params[0] = static_cast<std::int32_t>(last ^ std::bit_cast<std::uint32_t>(weights[0]));
  params[1] = static_cast<std::int32_t>(in.dims[1]);
  *values = {TensorSpec{DType::kF32, Layout::kChw, {3, 224, 224}}};
  return Status::Ok();
}

// Torch's generator and `others` more: Python's, and NumPy's.
inline Generators SeededAlike(std::uint64_t seed, int others) {
  return Generators(seed, others > 0, others > 1);
}

inline DrawPlanner::Options TorchOptions(int lanes, std::int64_t rows, int others = 0) {
  DrawPlanner::Options options;
  options.rng = RngMode::kTorch;
  options.lanes = lanes;
  options.param_words = kWords;
  options.with_python = others > 0;
  options.with_numpy = others > 1;
  options.draw = FakeDraw;
  options.dims = std::make_shared<SizeTable>(rows);
  options.keys = rows;
  return options;
}

}  // namespace headrace::client
