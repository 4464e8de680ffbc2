#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "ops/vision/geometry/interpolation.h"
#include "ops/vision/image.h"

// What Pillow's transforms share. Source: libImaging/Geometry.c. Each path computes as Pillow's
// does, in its order, since the bits of a coordinate decide about the pixel.
namespace headrace::ops {

using PilFill = std::array<std::uint8_t, 3>;

// The source's pixels, at coordinates that may lie anywhere.
class PilSource {
 public:
  explicit PilSource(const Image& in)
      : in_(in),
        last_x_(in.spec.width - 1),
        last_y_(in.spec.height - 1),
        width_(static_cast<double>(in.spec.width)),
        height_(static_cast<double>(in.spec.height)) {}

  [[nodiscard]] std::int64_t width() const { return in_.spec.width; }
  [[nodiscard]] std::int64_t height() const { return in_.spec.height; }
  [[nodiscard]] std::int32_t channels() const { return in_.spec.channels; }
  [[nodiscard]] bool HasColumn(double x) const { return x >= 0.0 && x < width_; }
  [[nodiscard]] bool HasRow(double y) const { return y >= 0.0 && y < height_; }
  [[nodiscard]] bool HasRow(std::int64_t y) const { return y >= 0 && y <= last_y_; }
  [[nodiscard]] std::int64_t ClipX(std::int64_t x) const {
    return std::clamp<std::int64_t>(x, 0, last_x_);
  }
  [[nodiscard]] std::int64_t ClipY(std::int64_t y) const {
    return std::clamp<std::int64_t>(y, 0, last_y_);
  }
  // REQUIRES: (y, x) is inside.
  [[nodiscard]] const std::uint8_t* At(std::int64_t y, std::int64_t x) const {
    return in_.At(y, x);
  }

 private:
  const Image& in_;
  std::int64_t last_x_, last_y_;
  double width_, height_;
};

template <std::size_t kChannels>
void PutPixel(const std::uint8_t* pixel, std::uint8_t* out) {
  std::memcpy(out, pixel, kChannels);
}

// A place in the source, in pixels; the middle of the first pixel is (0.5, 0.5).
struct PilPoint {
  double x, y;
};

// Writes a packed pixel for each point: what the filter makes of the source around it, or the fill
// where the point is outside.
using PilSampler = void (*)(const PilSource& source, std::span<const PilPoint> points,
                            const PilFill& fill, std::uint8_t* out);

// Pillow's filter for nearest, bilinear or bicubic, of 1 or 3 channels. Samplers of three channels
// may read a byte past a pixel. `vectors`: with AVX2, if this CPU has it; the bits are the same.
[[nodiscard]] PilSampler PilSamplerOf(Interpolation interpolation, std::int32_t channels,
                                      bool vectors = true);

// ImagingGenericTransform, of a window of its result: the pixel with the middle (x, y) comes from
// the point from(x, y).
template <typename From>
void PilTransform(const PilSource& source, const Window& part, const PilFill& fill,
                  std::uint8_t* out, From from, PilSampler sample) {
  constexpr std::int64_t kPoints = 128;  // at a time
  std::array<PilPoint, kPoints> points;
  for (std::int64_t row = part.top; row < part.top + part.height; ++row) {
    const double y = static_cast<double>(row) + 0.5;
    for (std::int64_t done = 0; done < part.width; done += kPoints) {
      const auto count = static_cast<std::size_t>(std::min(kPoints, part.width - done));
      const std::int64_t left = part.left + done;
      for (std::size_t i = 0; i < count; ++i) {
        points[i] = from(static_cast<double>(left + static_cast<std::int64_t>(i)) + 0.5, y);
      }
      sample(source, {points.data(), count}, fill, out);
      out += count * static_cast<std::size_t>(source.channels());
    }
  }
}

}  // namespace headrace::ops
