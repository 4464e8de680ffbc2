#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace::ops {

// torch's CPU generator: MT19937 with the draws of torch.rand, uniform_, randint and randperm, bit
// for bit. Source: aten/src/ATen/core/MT19937RNGEngine.h, TransformationHelper.h. Value type;
// thread-compatible.
class TorchGenerator {
 public:
  // How torch's uniform_ rounds: AVX2 and AVX512 builds of its kernel contract to one fused
  // multiply-add, the DEFAULT one multiplies and adds.
  enum class Rounding : std::uint8_t { kFused = 0, kTwice = 1 };
  // Bytes of torch.get_rng_state().
  static constexpr std::size_t kTorchStateBytes = 5056;

  // As torch.Generator().manual_seed(seed): only the low 32 bits reach the engine.
  explicit TorchGenerator(std::uint64_t seed = 0);

  // One 32-bit output of the engine.
  std::uint32_t Next();
  // float32 of torch.empty(1).uniform_(low, high): fma(u24 * 2^-24, high - low, low).
  float Uniform(float low, float high, Rounding rounding = Rounding::kFused);
  // torch.rand(1).item(); the same for both roundings.
  float Rand() { return Uniform(0.0F, 1.0F); }
  // torch.randint(low, high, (1,)). REQUIRES: low < high.
  std::int64_t RandInt(std::int64_t low, std::int64_t high);
  // torch.randperm(n) on the CPU, n = out.size().
  void RandPerm(std::span<std::int64_t> out);

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // 32-bit outputs taken since the seed; (seed, draws) is the whole state unless SetTorchState
  // brought in a foreign one (then draws counts from there and is not resumable by seed).
  [[nodiscard]] std::uint64_t draws() const { return draws_; }
  [[nodiscard]] bool resumable() const { return resumable_; }
  // Skips n outputs. O(n), about 2 ns each.
  void Discard(std::uint64_t n);

  // The bytes of torch.get_rng_state() for this state (5056 bytes), and back. kInvalidArgument:
  // not such bytes; the generator then stays as it was.
  [[nodiscard]] Bytes TorchState() const;
  Status SetTorchState(ByteSpan state);

 private:
  static constexpr std::size_t kNormalBytes = 40;  // cached samples of normal_ at the state's end

  void Refill();

  std::array<std::uint32_t, 624> state_{};
  std::uint32_t next_ = 624;
  std::uint64_t seed_ = 0;
  std::uint64_t draws_ = 0;
  bool resumable_ = true;
  bool fresh_ = true;  // seeded and nothing drawn: torch then says next = 0 instead of 624
  std::array<std::byte, kNormalBytes> normal_{};  // kept as they came: no draw here uses them
};

}  // namespace headrace::ops
