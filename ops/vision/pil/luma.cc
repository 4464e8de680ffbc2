#include "ops/vision/pil/luma.h"

#include <cstring>

namespace headrace::ops {
namespace {

template <std::size_t kStride, std::size_t kChannels>
void Row(const std::uint8_t* in, std::size_t width, std::uint8_t* out) {
  for (std::size_t x = 0; x < width; ++x) {
    const std::uint8_t* p = in + x * kStride;
    const std::uint8_t value = kStride == 1 ? p[0] : Luma(p[0], p[1], p[2]);
    for (std::size_t c = 0; c < kChannels; ++c) out[x * kChannels + c] = value;
  }
}

template <std::size_t kChannels>
void Rows(const Image& in, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(in.held.width);
  for (std::int64_t y = 0; y < in.held.height; ++y, out += width * kChannels) {
    const std::uint8_t* row = in.At(in.held.top + y, in.held.left);
    if (in.pixel_stride == 1) {
      Row<1, kChannels>(row, width, out);
    } else if (in.pixel_stride == 3) {
      Row<3, kChannels>(row, width, out);
    } else {
      Row<4, kChannels>(row, width, out);
    }
  }
}

}  // namespace

void ConvertToLuma(const Image& in, ScratchBuffer& memory, Image* out) {
  const auto channels = static_cast<std::size_t>(out->spec.channels);
  const std::size_t row_bytes = static_cast<std::size_t>(in.held.width) * channels;
  std::uint8_t* pixels = memory.Ensure(static_cast<std::size_t>(in.held.height) * row_bytes);
  if (channels == 1) {
    Rows<1>(in, pixels);
  } else {
    Rows<3>(in, pixels);
  }
  out->data = pixels;
  out->pixel_stride = channels;
  out->row_stride = row_bytes;
}

}  // namespace headrace::ops
