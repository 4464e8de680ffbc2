#include <algorithm>

#include "ops/vision/pil/box_blur_passes.h"

namespace headrace::ops {
namespace {

constexpr std::int64_t kPixel = 4;  // bytes

void Across(const BoxLines& lines, const BoxWeights& box, const std::uint8_t* in,
            std::uint32_t* sums, std::uint8_t* out) {
  const auto line = [&](std::int64_t n) {
    return in + n * static_cast<std::int64_t>(lines.stride);
  };
  std::fill_n(sums, lines.values, 0);
  BoxPass(
      lines.count, box.radius,
      [&](std::int64_t n, std::uint32_t times) {
        for (std::size_t i = 0; i < lines.values; ++i) sums[i] += line(n)[i] * times;
      },
      [&](std::int64_t n, std::int64_t left, std::int64_t right, std::int64_t add,
          std::int64_t subtract) {
        std::uint8_t* to = out + n * static_cast<std::int64_t>(lines.stride);
        for (std::size_t i = 0; i < lines.values; ++i) {
          sums[i] += std::uint32_t{line(add)[i]} - line(subtract)[i];
          const std::uint32_t ends = std::uint32_t{line(left)[i]} + line(right)[i];
          to[i] = static_cast<std::uint8_t>((sums[i] * box.inside + ends * box.end + kBoxHalf) >>
                                            kBoxShift);
        }
      });
}

void Along(std::int64_t pixels, const BoxWeights& box, const std::uint8_t* in, std::uint8_t* out) {
  for (std::int64_t c = 0; c < kPixel; ++c) {
    std::uint32_t sum = 0;
    const auto value = [&](std::int64_t n) -> std::uint32_t { return in[n * kPixel + c]; };
    BoxPass(
        pixels, box.radius, [&](std::int64_t n, std::uint32_t times) { sum += value(n) * times; },
        [&](std::int64_t n, std::int64_t left, std::int64_t right, std::int64_t add,
            std::int64_t subtract) {
          sum += value(add) - value(subtract);
          const std::uint32_t ends = value(left) + value(right);
          out[n * kPixel + c] = static_cast<std::uint8_t>(
              (sum * box.inside + ends * box.end + kBoxHalf) >> kBoxShift);
        });
  }
}

}  // namespace

const BoxBlurKernels kScalarBoxBlur{Across, Along};

}  // namespace headrace::ops
