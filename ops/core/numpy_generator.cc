#include "ops/core/numpy_generator.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"

namespace headrace::ops {
namespace {

constexpr std::size_t kPool = 4;

// The hash of torch's _generate_state, whose constant changes with each call.
class SeedHash {
 public:
  SeedHash(std::uint32_t start, std::uint32_t factor) : constant_(start), factor_(factor) {}
  std::uint32_t operator()(std::uint32_t value) {
    value ^= constant_;
    constant_ *= factor_;
    value *= constant_;
    return value ^ (value >> 16);
  }

 private:
  std::uint32_t constant_, factor_;
};

std::uint32_t MixSeeds(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t mixed = 0xca01f9ddU * x - 0x4973f715U * y;
  return mixed ^ (mixed >> 16);
}

}  // namespace

NumpyGenerator::NumpyGenerator(std::uint32_t seed) : KeptTwister(Mt19937(seed)) {}

// Source: torch/utils/data/_utils/worker.py, _generate_state.
NumpyGenerator NumpyGenerator::OfWorker(std::uint64_t base_seed, std::uint64_t worker) {
  SeedHash in(0x43b0d7e5U, 0x931e8875U);
  std::array<std::uint32_t, kPool> pool = {static_cast<std::uint32_t>(worker),
                                           static_cast<std::uint32_t>(base_seed),
                                           static_cast<std::uint32_t>(base_seed >> 32), 0};
  for (std::uint32_t& word : pool) word = in(word);
  for (std::size_t from = 0; from < kPool; ++from) {
    for (std::size_t to = 0; to < kPool; ++to) {
      if (from != to) pool[to] = MixSeeds(pool[to], in(pool[from]));
    }
  }
  SeedHash out(0x8b51f9ddU, 0x58f38dedU);
  for (std::uint32_t& word : pool) word = out(word);
  return NumpyGenerator(Mt19937(std::span<const std::uint32_t>(pool)));
}

// Source: RandomState.randint, by masks and without a buffer for words of 32 bits.
void NumpyGenerator::Choose(std::uint32_t n, std::span<std::uint32_t> out) {
  HR_CHECK(n >= 1);
  if (n == 1) {
    std::ranges::fill(out, 0U);
    return;
  }
  const std::uint32_t mask = std::bit_ceil(n) - 1;
  for (std::uint32_t& chosen : out) {
    do {
      chosen = Next() & mask;
    } while (chosen >= n);
  }
}

void NumpyGenerator::ChooseWeighted(std::span<const double> weights, std::span<std::uint32_t> out) {
  std::vector<double> left(weights.begin(), weights.end());
  std::vector<double> cumulative(weights.size());
  std::vector<double> drawn;
  std::size_t found = 0;
  while (found < out.size()) {
    drawn.resize(out.size() - found);
    for (double& number : drawn) number = Random();
    for (std::size_t i = 0; i < found; ++i) left[out[i]] = 0;
    double sum = 0;
    for (std::size_t i = 0; i < left.size(); ++i) cumulative[i] = sum += left[i];
    for (double& bound : cumulative) bound /= sum;
    const std::span<std::uint32_t> before = out.first(found);
    std::vector<std::uint32_t> fresh;
    for (const double number : drawn) {
      const auto at = std::ranges::upper_bound(cumulative, number) - cumulative.begin();
      const auto index = static_cast<std::uint32_t>(at);
      if (std::ranges::find(fresh, index) == fresh.end()) fresh.push_back(index);
    }
    std::ranges::copy(fresh, out.begin() + static_cast<std::ptrdiff_t>(before.size()));
    found += fresh.size();
  }
}

NumpyGenerator NumpyGenerator::At(std::uint64_t position) const {
  NumpyGenerator generator = *this;
  generator.MoveTo(position);
  return generator;
}

}  // namespace headrace::ops
