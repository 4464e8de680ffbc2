#pragma once

#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/torch/mt19937.h"

namespace headrace::ops {

// What Python's and NumPy's generators share: MT19937, counts of what was drawn, and a normal number
// that is kept for later. Value type; thread-compatible.
class KeptTwister {
 public:
  // Bytes of a state: 624 words and the next one's number, each of 4 bytes; whether a normal number
  // is kept, in 4 bytes; and that number, a double.
  static constexpr std::size_t kStateBytes = (Mt19937::kWords + 2) * 4 + 8;

  // 53 bits, of two outputs: random.random(), RandomState.random_sample().
  double Random();
  // random.gauss(mean, sigma): draws two numbers at a time, and keeps one. Uses the C library's log,
  // sqrt, cos and sin, as CPython does.
  double Gauss(double mean, double sigma);

  // 32-bit outputs taken since the seed, or since SetState.
  [[nodiscard]] std::uint64_t draws() const { return draws_; }
  // The place in the stream: draws(), and in the upper 16 bits how many draws ago a normal number
  // was kept, plus one. (seed, position) is the whole state if resumable().
  [[nodiscard]] std::uint64_t position() const;
  // False after SetState; position() then counts from there. Also false if a normal number has been
  // kept for too long.
  [[nodiscard]] bool resumable() const;
  // Takes over the normal number that `other` keeps, or that it keeps none. `before`: where draws
  // led from to this generator. False, and without effect: `other` stands elsewhere, or its number
  // was not drawn just before.
  bool KeepAs(const KeptTwister& other, const KeptTwister& before);
  // Skips n outputs.
  void Discard(std::uint64_t n);
  // Outputs that were taken of the present 624.
  [[nodiscard]] std::uint32_t place() const { return engine_.next(); }

  // The state as bytes, and back. kInvalidArgument: not such bytes; the generator then stays
  // unchanged.
  [[nodiscard]] Bytes State() const;
  Status SetState(ByteSpan state);

 protected:
  explicit KeptTwister(const Mt19937& engine) : engine_(engine) {}
  std::uint32_t Next();
  // Moves a generator that was seeded to that position. O(position).
  void MoveTo(std::uint64_t position);

 private:
  Mt19937 engine_;
  std::uint64_t draws_ = 0;
  bool resumable_ = true;
  std::uint32_t has_gauss_ = 0;
  double gauss_ = 0;
  std::uint64_t gauss_at_ = 0;  // draws_ when the pair had been drawn
};

}  // namespace headrace::ops
