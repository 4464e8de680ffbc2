#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/vision/geometry/resizing.h"
#include "ops/vision/image.h"

namespace headrace::ops {

// PIL's Image.Resampling, same values, and torch's nearest-exact.
enum class Filter : std::uint8_t {
  kNearest = 0,
  kLanczos = 1,
  kBilinear = 2,
  kBicubic = 3,
  kBox = 4,
  kHamming = 5,
  kNearestExact = 6,
};

// Which of its two passes Pillow makes first; the rounding in between changes values by a level.
// torch makes the horizontal pass first.
enum class PassOrder : std::uint8_t {
  kHorizontalFirst,    // Pillow up to 12.1
  kAdaptive,           // from Pillow 13: vertical first when that shrinks more
  kTallVerticalFirst,  // Pillow 12.2 and 12.3: vertical first for shrinking towers
};

// Part of an image in fractional pixels, like PIL's `box`.
struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

// PIL's image.resize((out_width, out_height), filter, box) of an in_width x in_height image, or
// torch's interpolate of one, back to uint8.
struct ResizeSpec {
  std::int64_t in_width = 0, in_height = 0;    // pixels
  std::int64_t out_width = 0, out_height = 0;  // pixels
  Filter filter = Filter::kBilinear;
  PassOrder order = PassOrder::kAdaptive;
  std::optional<Box> box = {};  // the whole image when absent; Pillow only
  ResizeArithmetic arithmetic = ResizeArithmetic::kPillow;
  bool antialias = true;  // kTorchBytes may go without
  friend bool operator==(const ResizeSpec&, const ResizeSpec&) = default;
};

// Kernels by instruction set; all give the same bits.
enum class SimdLevel : std::uint8_t { kScalar = 0, kAvx2 = 1, kAvx512Vnni = 2 };
// The best level of this CPU.
[[nodiscard]] SimdLevel DetectSimdLevel();

// Resizes 8-bit images to the bits of Pillow's Image.resize (libImaging/Resample.c and, for
// kNearest, Geometry.c), or of torch's interpolate in its builds for AVX2 and AVX-512
// (aten/src/ATen/native/cpu/UpSampleKernel.cpp). Keeps the filter coefficients of recent sizes and
// its working memory.
//
// Not thread-safe: one per executor thread.
class Resampler {
 public:
  explicit Resampler(SimdLevel level = DetectSimdLevel());
  ~Resampler();
  Resampler(const Resampler&) = delete;
  Resampler& operator=(const Resampler&) = delete;

  // The pixels of the input on which `out_window` of the output (all of it when absent) depends.
  // kInvalidArgument: sizes or a box that PIL refuses, or a window that is not inside the output.
  Result<Window> InputWindow(const ResizeSpec& spec, const std::optional<Window>& out_window);

  // Resizes. `in` holds the pixels of `in_window` of the input image (all of it when absent), which
  // must cover InputWindow(). It is HWC u8 with 1 channel, or with 3 channels and any pixel stride
  // (4 is fastest); for kFloats, float32 with FloatPixelBytes from pixel to pixel. Computes
  // `out_window` of the output (all of it when absent) into `memory`: 1 channel packed, or RGBX.
  // `memory` must not be where `in` is. kInvalidArgument as for InputWindow.
  Status Resize(const ResizeSpec& spec, const Image& in, const std::optional<Window>& in_window,
                const std::optional<Window>& out_window, ScratchBuffer& memory, Image* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The pass order of a Pillow version such as "12.3.0".
[[nodiscard]] PassOrder PassOrderOfPillow(std::string_view version);

}  // namespace headrace::ops
