#include "ops/image/tensor_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ops/image/byte_map.h"

namespace headrace::ops {
namespace {

// Clamped, and cut as torch converts to uint8.
std::uint8_t ToByte(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
}

// One value of _blend(image, other, ratio): v2's add_(other, alpha=...) is one fused operation.
class Blender {
 public:
  Blender(double ratio, int api)
      : ratio_(static_cast<float>(ratio)), rest_(static_cast<float>(1.0 - ratio)), api_(api) {}
  [[nodiscard]] std::uint8_t operator()(std::uint8_t value, float other) const {
    const float scaled = ratio_ * static_cast<float>(value);
    return ToByte(api_ == 1 ? scaled + rest_ * other : std::fma(rest_, other, scaled));
  }

 private:
  float ratio_, rest_;
  int api_;
};

// rgb_to_grayscale, a whole number.
float Gray(const std::uint8_t* p, int api) {
  const auto r = static_cast<float>(p[0]);
  const auto g = static_cast<float>(p[1]);
  const auto b = static_cast<float>(p[2]);
  const float sum = api == 1 ? 0.2989F * r + 0.587F * g + 0.114F * b
                             : std::fma(0.114F, b, std::fma(0.587F, g, 0.2989F * r));
  return std::floor(sum);
}

// torch.mean of whole numbers: vectors of `lanes` of them are added up, which is exact; then what
// does not fill a vector and each lane, one after the other, in float32.
float MeanGray(const Canvas& image, int api, std::int64_t lanes) {
  constexpr std::int64_t kMostLanes = 16;
  std::array<std::int64_t, kMostLanes> sums{};
  std::int64_t rest = 0;
  const std::int64_t count = image.spec.height * image.spec.width;
  const std::int64_t whole = count / lanes * lanes;
  std::int64_t i = 0;
  ForEachPixel(image, [&](const std::uint8_t* p) {
    const std::int64_t gray =
        image.spec.channels == 1 ? p[0] : static_cast<std::int64_t>(Gray(p, api));
    (i < whole ? sums[static_cast<std::size_t>(i % lanes)] : rest) += gray;
    ++i;
  });
  auto sum = static_cast<float>(rest);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    sum += static_cast<float>(sums[static_cast<std::size_t>(lane)]);
  }
  return sum / static_cast<float>(count);
}

}  // namespace

void TensorBrightness(const Canvas& image, double factor) {
  const auto ratio = static_cast<float>(factor);
  MapValues(image, MakeByteTable([&](int v) { return ToByte(ratio * static_cast<float>(v)); }));
}

void TensorSaturation(const Canvas& image, double factor, int api) {
  if (image.spec.channels == 1) return;
  const Blender blend(factor, api);
  ForEachPixel(image, [&](std::uint8_t* p) {
    const float gray = Gray(p, api);
    for (std::size_t c = 0; c < 3; ++c) p[c] = blend(p[c], gray);
  });
}

void TensorContrast(const Canvas& image, double factor, int api, std::int64_t lanes) {
  const Blender blend(factor, api);
  const float mean = MeanGray(image, api, lanes);
  MapValues(image, MakeByteTable([&](int v) { return blend(static_cast<std::uint8_t>(v), mean); }));
}

void TensorSharpness(const Image& in, double factor, int api, std::uint8_t* out) {
  const auto channels = static_cast<std::size_t>(in.spec.channels);
  const auto width = static_cast<std::size_t>(in.spec.width);
  const std::size_t row = width * channels;
  const auto rest = static_cast<float>(1.0 - factor);
  const Blender blend(factor, api);
  for (std::int64_t y = 0; y < in.spec.height; ++y, out += row) {
    const std::uint8_t* middle = in.At(y, 0);
    std::memcpy(out, middle, row);
    if (in.spec.height <= 2 || width <= 2) continue;
    const bool border = y == 0 || y + 1 == in.spec.height;
    for (std::size_t i = 0; i < row; ++i) {
      const auto value = static_cast<float>(middle[i]);
      float blurred = value;  // v1 blends the border with itself
      if (!border && i >= channels && i + channels < row) {
        int sum = 4 * middle[i];
        for (const std::uint8_t* line : {in.At(y - 1, 0), middle, in.At(y + 1, 0)}) {
          sum += line[i - channels] + line[i] + line[i + channels];
        }
        // Rounded: never half way between two numbers, so in whatever order torch sums.
        blurred = static_cast<float>((2 * sum + 13) / 26);
      }
      out[i] =
          api == 1 ? blend(middle[i], blurred) : ToByte(std::fma(rest, blurred - value, value));
    }
  }
}

void TensorSolarize(const Canvas& image, double threshold) {
  const auto bound = static_cast<float>(threshold);
  MapValues(image,
            MakeByteTable([&](int v) { return static_cast<float>(v) >= bound ? 255 - v : v; }));
}

void TensorAutoContrast(const Canvas& image, int api) {
  std::array<std::uint8_t, 3> least{255, 255, 255};
  std::array<std::uint8_t, 3> most{};
  const auto channels = static_cast<std::size_t>(image.spec.channels);
  ForEachPixel(image, [&](const std::uint8_t* p) {
    for (std::size_t c = 0; c < channels; ++c) {
      least[c] = std::min(least[c], p[c]);
      most[c] = std::max(most[c], p[c]);
    }
  });
  std::array<ByteTable, 3> tables{};
  for (std::size_t c = 0; c < channels; ++c) {
    const bool flat = least[c] == most[c];
    const float low = flat ? 0.0F : static_cast<float>(least[c]);
    const float range = static_cast<float>(most[c]) - static_cast<float>(least[c]);
    // bound / tensor is the tensor's reciprocal times bound.
    const float scale = flat ? 1.0F : 1.0F / range * 255.0F;
    const float inverse = flat ? 1.0F : range * static_cast<float>(1.0 / 255.0);
    for (std::size_t v = 0; v < 256; ++v) {
      const float above = static_cast<float>(v) - low;
      tables[c][v] = ToByte(api == 1 ? above * scale : above / inverse);
    }
  }
  MapValues(image, tables);
}

}  // namespace headrace::ops
