#include "ops/vision/pil/box_blur.h"

#include <cmath>
#include <cstring>

#include "ops/vision/pil/box_blur_kernels.h"

namespace headrace::ops {
namespace {

constexpr int kPasses = 3;
constexpr std::size_t kPixel = 4;  // bytes of a pixel of a line

const BoxBlurKernels& Kernels(PointwiseLevel level) {
#if defined(__x86_64__)
  if (level >= PointwiseLevel::kAvx2) return kAvx2BoxBlur;
#endif
  return kScalarBoxBlur;
}

// Lines of pixels of 4 bytes, which passes go through to and fro.
class Lines {
 public:
  Lines(std::uint8_t* memory, std::size_t width) : width_(width) {
    for (auto& line : lines_) {
      line = memory;
      memory += width * kPixel;
    }
  }

  void Read(const std::uint8_t* row, std::size_t stride, std::size_t channels) {
    for (std::size_t x = 0; x < width_; ++x) {
      std::memset(lines_[0] + x * kPixel, 0, kPixel);
      std::memcpy(lines_[0] + x * kPixel, row + x * stride, channels);
    }
  }

  void Write(std::uint8_t* row, std::size_t channels) const {
    for (std::size_t x = 0; x < width_; ++x) {
      std::memcpy(row + x * channels, lines_[0] + x * kPixel, channels);
    }
  }

  void Blur(const BoxWeights& box, const BoxBlurKernels& kernels) {
    kernels.along(static_cast<std::int64_t>(width_), box, lines_[0], lines_[1]);
    std::swap(lines_[0], lines_[1]);
  }

 private:
  std::size_t width_;
  std::uint8_t* lines_[2] = {};
};

}  // namespace

BoxWeights GaussianBox(float radius, int passes) {
  // As _gaussian_blur_radius does, in its types.
  const float sigma2 = radius * radius / static_cast<float>(passes);
  const float length = static_cast<float>(std::sqrt(12.0 * sigma2 + 1.0));
  const float whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * sigma2);
  part /= 6 * (sigma2 - (whole + 1) * (whole + 1));
  const float box = whole + part;

  BoxWeights weights;
  weights.radius = static_cast<std::int64_t>(box);
  weights.inside = static_cast<std::uint32_t>(static_cast<float>(1U << kBoxShift) / (box * 2 + 1));
  const auto values = static_cast<std::uint32_t>(weights.radius * 2 + 1);
  weights.end = ((1U << kBoxShift) - values * weights.inside) / 2;
  return weights;
}

void PilGaussianBlur(const Image& in, float radius, ScratchBuffer& scratch, std::uint8_t* out,
                     PointwiseLevel level) {
  const BoxWeights box = GaussianBox(radius, kPasses);
  const BoxBlurKernels& kernels = Kernels(level);
  const auto width = static_cast<std::size_t>(in.spec.width);
  const auto channels = static_cast<std::size_t>(in.spec.channels);
  const BoxLines rows{width * channels, in.spec.height, width * channels};
  const std::size_t sums = rows.values * sizeof(std::uint32_t), image = in.spec.bytes();
  std::uint8_t* memory = scratch.Ensure(std::max(sums + image, 2 * width * kPixel));

  Lines lines(memory, width);
  for (std::int64_t y = 0; y < in.spec.height; ++y) {
    lines.Read(in.At(y, 0), in.pixel_stride, channels);
    for (int pass = 0; pass < kPasses; ++pass) lines.Blur(box, kernels);
    lines.Write(out + static_cast<std::size_t>(y) * rows.stride, channels);
  }
  auto* sum = reinterpret_cast<std::uint32_t*>(memory);
  std::uint8_t *from = out, *to = memory + sums;
  for (int pass = 0; pass < kPasses; ++pass) {
    kernels.across(rows, box, from, sum, to);
    std::swap(from, to);
  }
  if (from != out) std::memcpy(out, from, image);
}

}  // namespace headrace::ops
