#include "ops/vision/pil/enhance.h"

#include "ops/vision/pil/blend.h"
#include "ops/vision/pil/byte_map.h"
#include "ops/vision/pil/enhance_kernels.h"

namespace headrace::ops {
namespace {

const EnhanceKernels& Kernels(PointwiseLevel level) {
#if defined(__x86_64__)
  if (level == PointwiseLevel::kAvx512Vbmi) return kAvx512VbmiEnhance;
  if (level == PointwiseLevel::kAvx2) return kAvx2Enhance;
#endif
  return kScalarEnhance;
}

// Calls per_run(PixelRun).
template <typename PerRun>
void ForEachPixelRun(const Canvas& image, PerRun per_run) {
  ForEachRun(image, [&](std::uint8_t* data, std::size_t pixels) {
    per_run(PixelRun{data, pixels, image.pixel_stride});
  });
}

void BlendWithConstant(const Canvas& image, int degenerate, float factor, PointwiseLevel level) {
  MapValues(image, MakeByteTable([&](int v) { return Blend(degenerate, v, factor); }), level);
}

// int(ImageStat.Stat(image.convert("L")).mean[0] + 0.5)
int MeanLuma(const Canvas& image, PointwiseLevel level) {
  std::uint64_t sum = 0;
  if (image.spec.channels == 1) {
    ForEachPixel(image, [&](const std::uint8_t* p) { sum += p[0]; });
  } else {
    ForEachPixelRun(image, [&](const PixelRun& run) { sum += Kernels(level).sum_luma(run); });
  }
  const auto count = static_cast<double>(image.spec.height * image.spec.width);
  return static_cast<int>(static_cast<double>(sum) / count + 0.5);
}

}  // namespace

void AdjustBrightness(const Canvas& image, float factor, PointwiseLevel level) {
  BlendWithConstant(image, 0, factor, level);
}

void AdjustContrast(const Canvas& image, float factor, PointwiseLevel level) {
  BlendWithConstant(image, MeanLuma(image, level), factor, level);
}

void AdjustSaturation(const Canvas& image, float factor, PointwiseLevel level) {
  if (image.spec.channels == 1) return;  // gray: a blend with itself
  ForEachPixelRun(image, [&](const PixelRun& run) { Kernels(level).blend_with_luma(run, factor); });
}

void AdjustHue(const Canvas& image, float factor, PointwiseLevel level) {
  // np.int32(factor * 255).astype(np.uint8): truncated, then wrapped.
  const auto shift = static_cast<std::int32_t>(static_cast<double>(factor) * 255.0);
  TurnHue(image, static_cast<std::uint8_t>(shift), level);
}

void TurnHue(const Canvas& image, std::uint8_t shift, PointwiseLevel level) {
  if (image.spec.channels == 1) return;
  ForEachPixelRun(image, [&](const PixelRun& run) { Kernels(level).turn_hue(run, shift); });
}

}  // namespace headrace::ops
