#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/core/kept_twister.h"

namespace headrace::ops {

// NumPy's legacy generator, np.random.RandomState: MT19937 with the draws of choice, bit for bit.
// Source: NumPy, numpy/random/mtrand.pyx, _mt19937.pyx and src/distributions/distributions.c; torch,
// utils/data/_utils/worker.py for the seeds of workers. Its state is that of np.random.get_state(),
// as bytes. Value type; thread-compatible.
class NumpyGenerator : public KeptTwister {
 public:
  // As np.random.seed(seed).
  explicit NumpyGenerator(std::uint32_t seed = 0);
  // As torch's DataLoader seeds NumPy in a worker.
  static NumpyGenerator OfWorker(std::uint64_t base_seed, std::uint64_t worker);

  // The indices of choice(n, out.size()). REQUIRES: 1 <= n.
  void Choose(std::uint32_t n, std::span<std::uint32_t> out);
  // The indices of choice(weights.size(), out.size(), replace=False, p=weights). REQUIRES: at least
  // out.size() weights are above 0.
  void ChooseWeighted(std::span<const double> weights, std::span<std::uint32_t> out);

  // Moves this generator, which was just seeded, to a position. O(position).
  [[nodiscard]] NumpyGenerator At(std::uint64_t position) const;

 private:
  explicit NumpyGenerator(const Mt19937& engine) : KeptTwister(engine) {}
};

}  // namespace headrace::ops
