#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/torch/mt19937.h"

namespace headrace::ops {

// torch's CPU generator: MT19937 with the draws of torch.rand, uniform_, randint, randperm and
// _sample_dirichlet, bit for bit. Source: aten/src/ATen/core/MT19937RNGEngine.h,
// TransformationHelper.h, DistributionsHelper.h, native/Distributions.{h,cpp}. Value type;
// thread-compatible.
class TorchGenerator {
 public:
  // How torch's uniform_ rounds. AVX2 and AVX512 builds of its kernel use one fused multiply-add;
  // the DEFAULT build multiplies and adds.
  enum class Rounding : std::uint8_t { kFused = 0, kTwice = 1 };
  // Bytes of torch.get_rng_state().
  static constexpr std::size_t kTorchStateBytes = 5056;
  // Most numbers of one Dirichlet: torch sums more in an order that was never compared.
  static constexpr std::size_t kMostWeights = 16;

  // As torch.Generator().manual_seed(seed): only the low 32 bits reach the engine.
  explicit TorchGenerator(std::uint64_t seed = 0);

  // One 32-bit output of the engine.
  std::uint32_t Next();
  // float32 of torch.empty(1).uniform_(low, high): fma(u24 * 2^-24, high - low, low), below high.
  float Uniform(float low, float high, Rounding rounding = Rounding::kFused);
  // torch.rand(1).item(); the same for both roundings.
  float Rand() { return Uniform(0.0F, 1.0F); }
  // torch.randint(low, high, (1,)). REQUIRES: low < high.
  std::int64_t RandInt(std::int64_t low, std::int64_t high);
  // torch.randperm(n) on the CPU, n = out.size().
  void RandPerm(std::span<std::int64_t> out);
  // torch._sample_dirichlet of a float32 tensor with out.size() times alpha. Uses the C library's
  // log, pow, sin and cos, as torch does. REQUIRES: alpha > 0, out.size() <= kMostWeights.
  void Dirichlet(float alpha, std::span<float> out);

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // 32-bit outputs taken since the seed, or since SetTorchState.
  [[nodiscard]] std::uint64_t draws() const { return draws_; }
  // The place in the stream: draws(), and in the upper 16 bits how many draws ago a normal number
  // was kept. torch draws two of them at a time. (seed, position) is the whole state if
  // resumable().
  [[nodiscard]] std::uint64_t position() const;
  // False after SetTorchState with a foreign state; position then counts from there. Also false if
  // a normal number has been kept for too long.
  [[nodiscard]] bool resumable() const;
  // Makes a generator with that seed, at that position: as a new one that skips so many outputs.
  static TorchGenerator At(std::uint64_t seed, std::uint64_t position);
  // Skips n outputs: about 2 ns each, and at most about half a second (mt19937_jump.h).
  void Discard(std::uint64_t n);
  // Outputs that were taken of the present 624; 0 or 624 at their border.
  [[nodiscard]] std::uint32_t place() const { return engine_.next(); }

  // What the next outputs follow from.
  [[nodiscard]] const Mt19937& engine() const { return engine_; }

  // Converts this state to the bytes of torch.get_rng_state() (5056 bytes), and back.
  // kInvalidArgument: not such bytes; the generator then stays unchanged.
  [[nodiscard]] Bytes TorchState() const;
  Status SetTorchState(ByteSpan state);

 private:
  static constexpr std::size_t kFloatNormalBytes = 8;  // a kept float32 normal, at the state's end

  double UniformDouble();      // in [0, 1)
  double Normal();             // at::normal_distribution<double>
  double Gamma(double alpha);  // sample_gamma of ATen's native/Distributions.h

  Mt19937 engine_;
  std::uint64_t seed_ = 0;
  std::uint64_t draws_ = 0;
  bool resumable_ = true;
  bool fresh_ = true;  // seeded and nothing drawn: torch then says next = 0 instead of 624
  std::optional<double> normal_;                             // the second one of a pair
  std::uint64_t normal_at_ = 0;                              // draws_ when the pair had been drawn
  std::array<std::byte, kFloatNormalBytes> float_normal_{};  // kept unchanged: no draw here uses it
};

}  // namespace headrace::ops
