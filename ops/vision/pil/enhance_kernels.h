#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::ops {

// Consecutive colour pixels, each of 3 bytes, or of 4 with an undefined fourth byte.
struct PixelRun {
  std::uint8_t* data = nullptr;
  std::size_t pixels = 0;
  std::size_t pixel_stride = 0;  // bytes, 3 or 4
};

// The parts of ImageEnhance and adjust_hue, for one instruction set. All give the same bits.
struct EnhanceKernels {
  // Adds to the hue of each pixel, modulo 256.
  void (*turn_hue)(const PixelRun& run, std::uint8_t shift);
  // Blends each pixel with its luminance.
  void (*blend_with_luma)(const PixelRun& run, float factor);
  // The sum of the luminances.
  std::uint64_t (*sum_luma)(const PixelRun& run);
};

extern const EnhanceKernels kScalarEnhance;
#if defined(__x86_64__)
extern const EnhanceKernels kAvx2Enhance;
extern const EnhanceKernels kAvx512VbmiEnhance;
#endif

// The hue as PIL counts it: RGB to HSV and back (libImaging/Convert.c, rgb2hsv_row and hsv2rgb)
// without an HSV image in between. One channel is the largest and one the least, so PIL's float
// arithmetic reduces to
//
//   part   = (most - middle) / (most - least)                     one rounded division
//   sixths = base +- part                                         by the order of the channels
//   hue    = int((sixths / 6, + 1 where negative) * 255)
//
// in float32, step by step. PIL rounds everything else like rational numbers: no value is so close
// to a border that PIL's float and double numbers matter. enhance_test.cc compares every colour.
//
//   saturation  = 255 * (most - least) / most                     rounded down
//   new least   = most * (255 - saturation) / 255                 to the nearest
//   new middle  = most * (255 * 85 - saturation * away) / (255 * 85)
//
// `away` is |85 - 2 * (hue mod 85)|. It is 0 midway between two of the hues 0, 85 and 170, where
// two channels are the largest. It is 85 at these hues, where two channels are the least.
inline constexpr int kThird = 85;  // a third of the circle of hues
inline constexpr int kWhole = 255 * kThird;

// Indexed by the order of the channels: (r < g) + 2 * (g < b) + 4 * (b < r). Index 0 is gray.
inline constexpr float kHueBase[8] = {0, 3, 5, 3, 1, 1, -1, 0};
inline constexpr int kFallingOrders = 1 << 1 | 1 << 2 | 1 << 4;  // a bit for each: base - part

// Positions of the largest (0), the middle (1) and the least (2) channel, by the sixth of the
// circle that contains the hue. 255 has its own sixth.
inline constexpr std::uint8_t kPlaces[8][4] = {{0, 1, 2, 3}, {1, 0, 2, 3}, {2, 0, 1, 3},
                                               {2, 1, 0, 3}, {1, 2, 0, 3}, {0, 2, 1, 3},
                                               {0, 1, 2, 3}, {0, 1, 2, 3}};
// hue * kSixths >> 16 is the sixth, hue * kThirds >> 16 the third.
inline constexpr int kSixths = 1543;
inline constexpr int kThirds = 772;

// Luma's weights as pairs of 16-bit numbers, the first in the lower half; green's is halved.
inline constexpr int kLumaRedGreen = 38470 / 2 << 16 | 19595;
inline constexpr int kLumaGreenBlue = 7471 << 16 | 38470 / 2;

}  // namespace headrace::ops
