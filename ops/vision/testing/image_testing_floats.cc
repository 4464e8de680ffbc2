// The kernels for float32 pixels in the C interface for tests (image_testing.cc).
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ops/vision/tensor/float_ops.h"
#include "ops/vision/tensor/float_sum.h"

#define HR_EXPORT extern "C" __attribute__((visibility("default")))

namespace headrace::ops {
namespace {

enum FloatOperation : std::int32_t {
  kBrightnessOf,
  kSaturationOf,
  kContrastOf,
  kHueOf,
  kInvertOf,
  kSolarizeOf,
  kPosterizeOf,
  kAutoContrastOf,
  kSharpnessOf,
  kGrayOf
};

// An image in memory: pixels as operators have them, with more pixels around it.
class FramedFloats {
 public:
  FramedFloats(const float* values, const ImageSpec& spec)
      : step_(FloatPixelBytes(spec.channels) / sizeof(float)),
        row_((static_cast<std::size_t>(spec.width) + 3) * step_),
        floats_(row_ * static_cast<std::size_t>(spec.height + 1),
                std::numeric_limits<float>::quiet_NaN()) {
    float* to = floats_.data() + step_;
    for (std::int64_t y = 0; y < spec.height; ++y, to += row_) {
      for (std::int64_t x = 0; x < spec.width; ++x) {
        for (std::int32_t c = 0; c < spec.channels; ++c) {
          to[static_cast<std::size_t>(x) * step_ + static_cast<std::size_t>(c)] = *values++;
        }
      }
    }
    image_ = {reinterpret_cast<const std::uint8_t*>(floats_.data() + step_), row_ * sizeof(float),
              step_ * sizeof(float), spec, WholeOf(spec)};
  }
  [[nodiscard]] const Image& image() const { return image_; }

 private:
  std::size_t step_, row_;
  std::vector<float> floats_;
  Image image_;
};

Status ChangeFloats(std::int32_t operation, const FloatPixels& pixels, double value, int api,
                    PointwiseLevel level) {
  ScratchBuffer scratch;
  switch (operation) {
    case kBrightnessOf:
      FloatBrightness(pixels, value, api, level);
      return {};
    case kSaturationOf:
      return FloatSaturation(pixels, value, api, level);
    case kContrastOf:
      return FloatContrast(pixels, value, api, scratch, level);
    case kHueOf:
      return FloatHue(pixels, static_cast<float>(value), api, level);
    case kInvertOf:
      FloatInvert(pixels, level);
      return {};
    case kSolarizeOf:
      FloatSolarize(pixels, value, level);
      return {};
    case kPosterizeOf:
      FloatPosterize(pixels, static_cast<int>(value), level);
      return {};
    case kSharpnessOf: {
      OpContext context;
      return FloatSharpness(pixels, value, api, context, level);
    }
    default:
      return FloatAutoContrast(pixels, api, level);
  }
}

}  // namespace

// settings: level, operation, API, channels, height, width, channels of the output. in, out: packed
// HWC.
HR_EXPORT int hr_float_operation(const std::int32_t* settings, double value, const float* in,
                                 float* out) {
  const auto level = static_cast<PointwiseLevel>(settings[0]);
  const ImageSpec spec{settings[4], settings[5], settings[3], DType::kF32, Layout::kHwc};
  const FramedFloats framed(in, spec);
  ScratchBuffer memory, scratch;
  Image made = framed.image();
  made.spec.channels = settings[6];
  Status status;
  if (settings[1] == kGrayOf) {
    status = FloatGray(framed.image(), settings[2], memory, scratch, &made, level);
  } else {
    const FloatPixels pixels = CopyFloats(framed.image(), memory);
    status = ChangeFloats(settings[1], pixels, value, settings[2], level);
    pixels.Show(&made);
  }
  if (!status.ok()) return static_cast<int>(status.code());
  for (std::int64_t y = 0; y < spec.height; ++y) {
    for (std::int64_t x = 0; x < spec.width; ++x) {
      const auto* const from = reinterpret_cast<const float*>(made.At(y, x));
      for (std::int32_t c = 0; c < made.spec.channels; ++c) *out++ = from[c];
    }
  }
  return 0;
}

HR_EXPORT float hr_torch_sum(const float* numbers, std::size_t count) {
  return TorchSum({numbers, count});
}

}  // namespace headrace::ops
