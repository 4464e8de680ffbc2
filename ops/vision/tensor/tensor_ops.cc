#include "ops/vision/tensor/tensor_ops.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "ops/vision/pil/byte_map.h"
#include "ops/vision/tensor/tensor_kernels.h"
#include "ops/vision/tensor/tensor_mean.h"
#include "ops/vision/tensor/tensor_sharpen.h"

namespace headrace::ops {
namespace {

const TensorKernels& Kernels([[maybe_unused]] PointwiseLevel level) {
#if defined(__x86_64__)
  if (level != PointwiseLevel::kScalar) return kAvx2Tensor;
#endif
  return kScalarTensor;
}

TensorBlend MakeBlend(double ratio, int api) {
  return {static_cast<float>(ratio), static_cast<float>(1.0 - ratio), api};
}

// Calls per_run(PixelRun).
template <typename PerRun>
void ForEachPixelRun(const Canvas& image, PerRun per_run) {
  ForEachRun(image, [&](std::uint8_t* data, std::size_t pixels) {
    per_run(PixelRun{data, pixels, image.pixel_stride});
  });
}

// torch.mean of rgb_to_grayscale.
float MeanGray(const Canvas& image, int api, PointwiseLevel level) {
  const auto count = static_cast<std::size_t>(image.spec.height * image.spec.width);
  TensorSum sum(count);
  ForEachRun(image, [&](const std::uint8_t* data, std::size_t pixels) {
    if (image.pixel_stride == 1) return sum.Add(data, pixels);
    std::array<std::uint8_t, 4096> grays;
    for (std::size_t at = 0; at < pixels; at += grays.size()) {
      const std::size_t some = std::min(grays.size(), pixels - at);
      const std::uint8_t* const from = data + at * image.pixel_stride;
      if (image.spec.channels == 1) {
        for (std::size_t i = 0; i < some; ++i) grays[i] = from[i * image.pixel_stride];
      } else {
        Kernels(level).gray(from, some, image.pixel_stride, api, grays.data());
      }
      sum.Add(grays.data(), some);
    }
  });
  return sum.Total() / static_cast<float>(count);
}

struct Extremes {
  std::array<std::uint8_t, 3> least, most;
};

template <std::size_t kCount>
void Compare(const std::uint8_t* __restrict values, std::uint8_t* __restrict least,
             std::uint8_t* __restrict most) {
  for (std::size_t i = 0; i < kCount; ++i) {
    least[i] = std::min(least[i], values[i]);
    most[i] = std::max(most[i], values[i]);
  }
}

// The least and the greatest value of each channel of packed pixels.
template <std::size_t kChannels>
Extremes ExtremesOf(const Canvas& image) {
  constexpr std::size_t kBlock = 32 * kChannels;
  std::array<std::uint8_t, kBlock> least, most;
  least.fill(255);
  most.fill(0);
  ForEachRun(image, [&](const std::uint8_t* data, std::size_t pixels) {
    const std::size_t bytes = pixels * kChannels;
    std::size_t at = 0;
    for (; at + kBlock <= bytes; at += kBlock) {
      Compare<kBlock>(data + at, least.data(), most.data());
    }
    for (std::size_t i = 0; at < bytes; ++at, ++i) {
      least[i] = std::min(least[i], data[at]);
      most[i] = std::max(most[i], data[at]);
    }
  });
  Extremes found{{255, 255, 255}, {0, 0, 0}};
  for (std::size_t i = 0; i < kBlock; ++i) {
    found.least[i % kChannels] = std::min(found.least[i % kChannels], least[i]);
    found.most[i % kChannels] = std::max(found.most[i % kChannels], most[i]);
  }
  return found;
}

}  // namespace

void TensorBrightness(const Canvas& image, double factor, PointwiseLevel level) {
  const auto ratio = static_cast<float>(factor);
  const auto table = MakeByteTable([&](int v) { return CutToByte(ratio * static_cast<float>(v)); });
  MapValues(image, table, level);
}

void TensorSaturation(const Canvas& image, double factor, int api, PointwiseLevel level) {
  if (image.spec.channels == 1) return;
  const TensorBlend blend = MakeBlend(factor, api);
  ForEachPixelRun(image, [&](const PixelRun& run) { Kernels(level).blend_with_gray(run, blend); });
}

Status TensorContrast(const Canvas& image, double factor, int api, PointwiseLevel level) {
  const TensorBlend blend = MakeBlend(factor, api);
  const float mean = MeanGray(image, api, level);
  const auto table =
      MakeByteTable([&](int v) { return BlendOne(blend, static_cast<float>(v), mean); });
  // torch blends with one number by vectors of 16 values. It computes the rest of them one by one,
  // and there it rounds the product of the mean before it adds. Which values are the rest depends on
  // the order in memory, and on the number of threads.
  const TensorBlend one_by_one{blend.ratio, blend.rest, 1};
  const auto rest =
      MakeByteTable([&](int v) { return BlendOne(one_by_one, static_cast<float>(v), mean); });
  if (table != rest) {
    return Unsupported("the values at an end are blended in another way, which depends on memory");
  }
  MapValues(image, table, level);
  return {};
}

void TensorHue(const Canvas& image, float factor, int api, PointwiseLevel level) {
  if (image.spec.channels == 1) return;
  ForEachPixelRun(image, [&](const PixelRun& run) { Kernels(level).turn_hue(run, factor, api); });
}

void TensorSharpness(const Image& in, double factor, int api, std::uint8_t* out,
                     PointwiseLevel level) {
  const auto channels = static_cast<std::size_t>(in.spec.channels);
  const std::size_t row = static_cast<std::size_t>(in.spec.width) * channels;
  const bool small = in.spec.height <= 2 || in.spec.width <= 2;
  const TensorBlend blend = MakeBlend(factor, api);
  // v1 blends the border with itself.
  const ByteTable border = MakeByteTable([&](int v) {
    const auto value = static_cast<float>(v);
    return api == 1 && !small ? BlendOne(blend, value, value) : static_cast<std::uint8_t>(v);
  });
  for (std::int64_t y = 0; y < in.spec.height; ++y, out += row) {
    const std::uint8_t* const values = in.At(y, 0);
    const auto copy = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out[i] = border[values[i]];
    };
    if (small || y == 0 || y + 1 == in.spec.height) {
      copy(0, row);
      continue;
    }
    copy(0, channels);
    Kernels(level).sharpen({in.At(y - 1, 0), values, in.At(y + 1, 0)}, channels, channels,
                           row - channels, blend, out);
    copy(row - channels, row);
  }
}

void TensorSolarize(const Canvas& image, double threshold) {
  const auto bound = static_cast<float>(threshold);
  MapValues(image,
            MakeByteTable([&](int v) { return static_cast<float>(v) >= bound ? 255 - v : v; }));
}

void TensorAutoContrast(const Canvas& image, int api) {
  const auto channels = static_cast<std::size_t>(image.spec.channels);
  const Extremes found = channels == 1 ? ExtremesOf<1>(image) : ExtremesOf<3>(image);
  std::array<ByteTable, 3> tables{};
  for (std::size_t c = 0; c < channels; ++c) {
    const bool flat = found.least[c] == found.most[c];
    const float low = flat ? 0.0F : static_cast<float>(found.least[c]);
    const float range = static_cast<float>(found.most[c]) - static_cast<float>(found.least[c]);
    // torch computes bound / tensor as the tensor's reciprocal times bound.
    const float scale = flat ? 1.0F : 1.0F / range * 255.0F;
    const float inverse = flat ? 1.0F : range * static_cast<float>(1.0 / 255.0);
    for (std::size_t v = 0; v < 256; ++v) {
      const float above = static_cast<float>(v) - low;
      tables[c][v] = CutToByte(api == 1 ? above * scale : above / inverse);
    }
  }
  MapValues(image, tables);
}

void TensorGray(const Image& in, int api, ScratchBuffer& memory, Image* out, PointwiseLevel level) {
  const auto width = static_cast<std::size_t>(in.held.width);
  const auto channels = static_cast<std::size_t>(out->spec.channels);
  const auto rows = static_cast<std::size_t>(in.held.height);
  // Room for one row of grays after the pixels.
  std::uint8_t* to = memory.Ensure((rows * channels + 1) * width);
  std::uint8_t* const grays = to + rows * channels * width;
  out->data = to;
  out->pixel_stride = channels;
  out->row_stride = width * channels;
  for (std::size_t y = 0; y < rows; ++y, to += out->row_stride) {
    const std::uint8_t* const row = in.At(in.held.top + static_cast<std::int64_t>(y), in.held.left);
    std::uint8_t* const gray = channels == 1 ? to : grays;
    if (in.spec.channels == 1) {
      for (std::size_t x = 0; x < width; ++x) gray[x] = row[x * in.pixel_stride];
    } else {
      Kernels(level).gray(row, width, in.pixel_stride, api, gray);
    }
    if (channels == 1) continue;
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < 3; ++c) to[3 * x + c] = gray[x];
    }
  }
}

}  // namespace headrace::ops
