#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::images {

// Writes (pixel - mean) * factor of each channel, in float32 that is rounded after each step, as
// NumPy computes it. `in` and `out`: pixels of three channels without gaps. REQUIRES: HasKernels().
// Thread-safe.
void NormalizePixels(const std::uint8_t* in, std::size_t pixels, const std::array<float, 3>& mean,
                     const std::array<float, 3>& factor, float* out);

// (value - mean) / deviation of each channel, in float32 that is rounded after each step, as torch
// computes it. One mean and one deviation a channel.
struct Deviations {
  std::span<const float> means, deviations;
};

// Of planes of `plane` values, one after the other; the channels come round. `out` may be `in`.
// REQUIRES: HasKernels(). Thread-safe.
void NormalizePlanes(std::span<const float> in, std::size_t plane, const Deviations& by,
                     float* out);
// The same of pixels of so many channels, up to kMostInterleaved, without gaps.
inline constexpr std::size_t kMostInterleaved = 4;
void NormalizeInterleaved(std::span<const float> in, const Deviations& by, float* out);

}  // namespace headrace::images
