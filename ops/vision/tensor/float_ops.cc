#include "ops/vision/tensor/float_ops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/vision/tensor/convolve.h"
#include "ops/vision/tensor/float_kernels.h"
#include "ops/vision/tensor/float_sum.h"
#include "ops/vision/tensor/grid_kernels.h"

namespace headrace::ops {
namespace {

const FloatKernels& KernelsOf([[maybe_unused]] PointwiseLevel level) {
#if defined(__x86_64__)
  if (level != PointwiseLevel::kScalar) return kAvx2Floats;
#endif
  return kScalarFloats;
}

FloatRun RunOf(const FloatPixels& image) { return {image.floats.data(), image.floats.size()}; }

FloatBlend FloatBlendOf(double ratio, int api) {
  return {static_cast<float>(ratio), static_cast<float>(1.0 - ratio), api};
}

Status Numbers(bool all) {
  if (all) return {};
  return Unsupported("elements that are no finite numbers have other bits in torch");
}

// torch blends with one number, in v2, by vectors of 16 elements with a fused operation. It computes
// the rest of them one by one, and there it rounds the product of `other` first. Which elements are
// the rest depends on the order in memory: channel by channel, or pixel by pixel. True if none of
// them has other bits so.
bool EndsAlike(const FloatPixels& image, const FloatBlend& blend, float other) {
  constexpr std::size_t kVectors = 16;
  const std::size_t pixels = image.pixels(), count = 3 * pixels;
  const auto alike = [&](std::size_t pixel, std::size_t channel) {
    const float scaled = blend.ratio * image.floats[4 * pixel + channel];
    const float fused = std::fma(blend.rest, other, scaled);
    const float rounded = scaled + blend.rest * other;
    return fused == rounded || (fused >= 1 && rounded >= 1) || (fused < 0 && rounded < 0);
  };
  for (std::size_t i = count / kVectors * kVectors; i < count; ++i) {
    if (!alike(i % pixels, i / pixels) || !alike(i / 3, i % 3)) return false;
  }
  return true;
}

// Whether there is a zero of this sign, in any channel.
bool HasZero(std::span<const float> values, float zero) {
  const auto wanted = std::bit_cast<std::uint32_t>(zero);
  std::uint32_t found = 0;
  for (const float value : values) {
    found |= std::bit_cast<std::uint32_t>(value) == wanted ? 1U : 0U;
  }
  return found != 0;
}

}  // namespace

void FloatPixels::Show(Image* out) const {
  out->data = reinterpret_cast<const std::uint8_t*>(floats.data());
  out->pixel_stride = FloatPixelBytes(spec.channels);
  out->row_stride = out->pixel_stride * static_cast<std::size_t>(spec.width);
}

FloatPixels MakeFloats(const ImageSpec& spec, ScratchBuffer& memory) {
  const std::size_t bytes =
      static_cast<std::size_t>(spec.height * spec.width) * FloatPixelBytes(spec.channels);
  return {{reinterpret_cast<float*>(memory.Ensure(bytes)), bytes / sizeof(float)}, spec};
}

FloatPixels CopyFloats(const Image& in, ScratchBuffer& memory) {
  const Image part = in.Part(in.held);
  const FloatPixels made = MakeFloats(part.spec, memory);
  const std::size_t row = static_cast<std::size_t>(part.spec.width) * made.step();
  float* to = made.floats.data();
  for (std::int64_t y = 0; y < part.spec.height; ++y, to += row) {
    std::memcpy(to, part.At(y, 0), row * sizeof(float));
  }
  return made;
}

void FloatBrightness(const FloatPixels& image, double factor, int api, PointwiseLevel level) {
  // v1 blends with 0, which changes the sign of a zero.
  if (api == 1) {
    return KernelsOf(level).blend(RunOf(image), FloatBlendOf(factor, 1), 0.0F);
  }
  KernelsOf(level).scale(RunOf(image), static_cast<float>(factor));
}

Status FloatSaturation(const FloatPixels& image, double factor, int api, PointwiseLevel level) {
  if (image.spec.channels == 1) return {};
  return Numbers(KernelsOf(level).blend_with_gray(RunOf(image), FloatBlendOf(factor, api)));
}

Status FloatContrast(const FloatPixels& image, double factor, int api, ScratchBuffer& memory,
                     PointwiseLevel level) {
  if (image.spec.channels != 3) return Unsupported("contrast of one channel of float32");
  const std::size_t count = image.pixels();
  auto* const grays = reinterpret_cast<float*>(memory.Ensure(count * sizeof(float)));
  const FloatKernels& kernels = KernelsOf(level);
  HR_RETURN_IF_ERROR(Numbers(kernels.gray(image.floats.data(), count, api, grays)));
  const float mean = TorchSum({grays, count}) / static_cast<float>(count);
  HR_RETURN_IF_ERROR(Numbers(!std::isnan(mean)));
  const FloatBlend blend = FloatBlendOf(factor, api);
  if (api == 2 && !EndsAlike(image, blend, mean)) {
    return Unsupported(
        "the elements at an end are blended in another way, which depends on memory");
  }
  kernels.blend(RunOf(image), blend, mean);
  return {};
}

Status FloatHue(const FloatPixels& image, float factor, int api, PointwiseLevel level) {
  if (image.spec.channels == 1) return {};
  return Numbers(KernelsOf(level).turn_hue(RunOf(image), factor, api));
}

void FloatInvert(const FloatPixels& image, PointwiseLevel level) {
  KernelsOf(level).invert(RunOf(image));
}

void FloatSolarize(const FloatPixels& image, double threshold, PointwiseLevel level) {
  KernelsOf(level).solarize(RunOf(image), static_cast<float>(threshold));
}

void FloatPosterize(const FloatPixels& image, int bits, PointwiseLevel level) {
  KernelsOf(level).posterize(RunOf(image), static_cast<float>(1 << bits));
}

Status FloatAutoContrast(const FloatPixels& image, int api, PointwiseLevel level) {
  Image shown{nullptr, 0, 0, image.spec, WholeOf(image.spec)};
  image.Show(&shown);
  HR_RETURN_IF_ERROR(Numbers(AreFinite(shown, level)));
  std::array<float, 4> least, most;
  KernelsOf(level).bounds(image.floats.data(), image.floats.size(), least.data(), most.data());
  if (image.spec.channels == 1) {
    least.fill(*std::ranges::min_element(least));
    most.fill(*std::ranges::max_element(most));
  }
  const bool negative_zero = HasZero(image.floats, -0.0F);
  FloatStretch stretch{{0, 0, 0, 0}, {1, 1, 1, 1}, api};
  for (std::size_t c = 0; c < (image.spec.channels == 1 ? 4 : 3); ++c) {
    if (least[c] == 0 && negative_zero && HasZero(image.floats, 0.0F)) {
      return Unsupported("the sign of the least element is not known");
    }
    const float range = most[c] - least[c];
    // torch computes bound / tensor as the tensor's reciprocal times bound.
    const float scale = api == 1 ? 1.0F / range : range;
    if (api == 1 ? !std::isfinite(scale) : most[c] == least[c]) continue;
    stretch.low[c] = least[c] == 0 && negative_zero ? -0.0F : least[c];
    stretch.scale[c] = scale;
  }
  KernelsOf(level).stretch(RunOf(image), stretch);
  return {};
}

bool AreFinite(const Image& in, PointwiseLevel level) {
  const Image part = in.Part(in.held);
  const std::size_t step = FloatPixelBytes(part.spec.channels) / sizeof(float);
  const float lanes[4] = {1, 1, 1, step == 4 ? 0.0F : 1.0F};
  const std::size_t row = static_cast<std::size_t>(part.spec.width) * step;
  for (std::int64_t y = 0; y < part.spec.height; ++y) {
    const auto* const values = reinterpret_cast<const float*>(part.At(y, 0));
    if (!KernelsOf(level).finite(values, row, lanes)) return false;
  }
  return true;
}

Status FloatSharpness(const FloatPixels& image, double factor, int api, OpContext& context,
                      PointwiseLevel level) {
  if (image.spec.height <= 2 || image.spec.width <= 2) return {};
  constexpr std::size_t kSmallImage = 20480;
  if (image.spec.channels == 1 && image.pixels() <= kSmallImage) {
    return Unsupported("torch sums small images of one channel in another order");
  }
  const auto height = static_cast<std::size_t>(image.spec.height);
  const std::size_t step = image.step(), row = image.floats.size() / height;
  const FloatKernels& kernels = KernelsOf(level);
  Image shown{nullptr, 0, 0, image.spec, WholeOf(image.spec)};
  image.Show(&shown);
  HR_RETURN_IF_ERROR(Numbers(AreFinite(shown, level)));
  // torch divides by the sum.
  constexpr float kOuter = 1.0F / 13.0F, kInner = 5.0F / 13.0F;
  constexpr std::array<float, 9> kWeights = {kOuter, kOuter, kOuter, kOuter, kInner,
                                             kOuter, kOuter, kOuter, kOuter};
  const std::size_t inside = row - 2 * step;
  auto* const blurred =
      reinterpret_cast<float*>(context.scratch(1).Ensure((height - 2) * inside * sizeof(float)));
  ConvolveThree(image.floats.data(), height, row, step, kWeights, context, blurred, level);
  const FloatBlend blend = FloatBlendOf(factor, api);
  // v1 blends the border with itself.
  const auto border = [&](float* values, std::size_t count) {
    if (api == 1) return kernels.sharpen({values, count}, values, blend);
    kernels.scale({values, count}, 1.0F);
  };
  for (std::size_t y = 0; y < height; ++y) {
    float* const values = image.floats.data() + y * row;
    if (y == 0 || y + 1 == height) {
      border(values, row);
      continue;
    }
    border(values, step);
    kernels.sharpen({values + step, inside}, blurred + (y - 1) * inside, blend);
    border(values + row - step, step);
  }
  return {};
}

Status FloatAffine(const Image& in, const AffineMatrix& matrix, const AffineArgs& args, int api,
                   const FloatPixels& out, PointwiseLevel level) {
  HR_RETURN_IF_ERROR(Numbers(AreFinite(in, level)));
  KernelsOf(level).sample(AffineJob(in, matrix, args, api), out.floats.data());
  return {};
}

Status FloatPerspective(const Image& in, const PerspectiveCoefficients& coefficients,
                        const AffineArgs& args, int api, const FloatPixels& out,
                        PointwiseLevel level) {
  HR_RETURN_IF_ERROR(Numbers(AreFinite(in, level)));
  KernelsOf(level).sample(PerspectiveJob(in, coefficients, args, api), out.floats.data());
  return {};
}

Status FloatElastic(const Image& in, const GridField& field, const AffineArgs& args, int api,
                    const FloatPixels& out, PointwiseLevel level) {
  HR_RETURN_IF_ERROR(Numbers(AreFinite(in, level)));
  KernelsOf(level).sample(FieldJob(in, field, args, api), out.floats.data());
  return {};
}

Status FloatGray(const Image& in, int api, ScratchBuffer& memory, ScratchBuffer& scratch,
                 Image* out, PointwiseLevel level) {
  ImageSpec spec = in.Part(in.held).spec;
  const auto row = static_cast<std::size_t>(spec.width);
  spec.channels = out->spec.channels;
  const FloatPixels made = MakeFloats(spec, memory);
  auto* const grays = reinterpret_cast<float*>(scratch.Ensure(row * sizeof(float)));
  float* to = made.floats.data();
  bool numbers = true;
  for (std::int64_t y = 0; y < spec.height; ++y, to += row * made.step()) {
    const auto* const from = reinterpret_cast<const float*>(in.At(in.held.top + y, in.held.left));
    float* const gray = made.step() == 1 ? to : grays;
    if (in.spec.channels == 1) {
      std::copy_n(from, row, gray);
    } else {
      numbers = KernelsOf(level).gray(from, row, api, gray) && numbers;
    }
    if (made.step() == 1) continue;
    for (std::size_t x = 0; x < row; ++x) std::fill_n(to + 4 * x, 4, gray[x]);
  }
  HR_RETURN_IF_ERROR(Numbers(numbers));
  made.Show(out);
  return {};
}

}  // namespace headrace::ops
