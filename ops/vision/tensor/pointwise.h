#pragma once

#include <cstdint>
#include <span>

#include "ops/vision/image.h"

namespace headrace::ops {

struct Flip {
  bool horizontal = false;
  bool vertical = false;
  friend bool operator==(const Flip&, const Flip&) = default;
};

// Kernels by instruction set; all give the same bits.
enum class PointwiseLevel : std::uint8_t { kScalar = 0, kAvx2 = 1, kAvx512Vbmi = 2 };
// The best level of this CPU.
[[nodiscard]] PointwiseLevel DetectPointwiseLevel();

// Ends an image chain in one pass: HWC u8 pixels -> dense CHW elements, each looked up in a table
// of its channel. The table holds the framework's result for each of the 256 values (ToTensor,
// ConvertImageDtype, Normalize, ...), so the result is exact by construction.
//
// in: HWC u8, channels 1 or 3, any strides. table: channels x 256 elements, channel by channel.
// out: channels x height x width elements.
// REQUIRES: table.size() == channels * 256, out.size() == channels * height * width.
// T is the element's bit pattern: std::uint8_t, std::uint16_t (f16, bf16), float, double.
template <typename T>
void TableToChw(const Image& in, Flip flip, std::span<const T> table, std::span<T> out,
                PointwiseLevel level = DetectPointwiseLevel());

// HWC u8 -> dense CHW u8 (PILToTensor). REQUIRES as above.
void ToChw(const Image& in, Flip flip, std::span<std::uint8_t> out,
           PointwiseLevel level = DetectPointwiseLevel());

// HWC u8 of any pixel stride -> packed HWC u8 of in.spec.channels, flipped.
// REQUIRES: out.size() == channels * height * width.
void ToPacked(const Image& in, Flip flip, std::span<std::uint8_t> out);

extern template void TableToChw<std::uint8_t>(const Image&, Flip, std::span<const std::uint8_t>,
                                              std::span<std::uint8_t>, PointwiseLevel);
extern template void TableToChw<std::uint16_t>(const Image&, Flip, std::span<const std::uint16_t>,
                                               std::span<std::uint16_t>, PointwiseLevel);
extern template void TableToChw<float>(const Image&, Flip, std::span<const float>, std::span<float>,
                                       PointwiseLevel);
extern template void TableToChw<double>(const Image&, Flip, std::span<const double>,
                                        std::span<double>, PointwiseLevel);

}  // namespace headrace::ops
