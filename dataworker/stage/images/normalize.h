#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace::images {

// Writes (pixel - mean) * factor of each channel, in float32 that is rounded after each step, as
// NumPy computes it. `in` and `out`: pixels of three channels without gaps. REQUIRES: HasKernels().
// Thread-safe.
void NormalizePixels(const std::uint8_t* in, std::size_t pixels, const std::array<float, 3>& mean,
                     const std::array<float, 3>& factor, float* out);

}  // namespace headrace::images
