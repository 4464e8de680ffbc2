#include "dataworker/stage/images/tensor_colors.h"

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/buffer.h"
#include "ops/vision/canvas.h"
#include "ops/vision/tensor/tensor_ops.h"

namespace nb = nanobind;

namespace headrace {
namespace {

constexpr std::int64_t kMostSide = 1 << 20;

// [3, H, W] of any strides.
using In = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::device::cpu>;
using Out = nb::ndarray<std::uint8_t, nb::ndim<3>, nb::device::cpu>;

// A row of pixels in memory whose channels lie `channel` bytes apart, and pixels `pixel` bytes.
template <typename Byte>
struct Row {
  Byte* data;
  std::int64_t channel, pixel;
};

void Gather(const Row<const std::uint8_t>& from, std::int64_t width, std::uint8_t* to) {
  if (from.channel == 1 && from.pixel == 3) {
    std::memcpy(to, from.data, static_cast<std::size_t>(3 * width));
    return;
  }
  for (std::int64_t c = 0; c < 3; ++c) {
    const std::uint8_t* const plane = from.data + c * from.channel;
    for (std::int64_t x = 0; x < width; ++x) to[3 * x + c] = plane[x * from.pixel];
  }
}

void Scatter(const std::uint8_t* from, std::int64_t width, const Row<std::uint8_t>& to) {
  if (to.channel == 1 && to.pixel == 3) {
    std::memcpy(to.data, from, static_cast<std::size_t>(3 * width));
    return;
  }
  for (std::int64_t c = 0; c < 3; ++c) {
    std::uint8_t* const plane = to.data + c * to.channel;
    for (std::int64_t x = 0; x < width; ++x) plane[x * to.pixel] = from[3 * x + c];
  }
}

// Writes adjust_hue(image, factor) to `out`, row by row, so that a row's pixels stay in the cache.
bool TurnHue(const In& image, double factor, int api, const Out& out) {
  if (image.shape(0) != 3 || out.shape(0) != 3 || !(factor >= -0.5 && factor <= 0.5)) return false;
  const auto height = static_cast<std::int64_t>(image.shape(1));
  const auto width = static_cast<std::int64_t>(image.shape(2));
  if (height == 0 || width == 0 || height > kMostSide || width > kMostSide) return false;
  if (out.shape(1) != image.shape(1) || out.shape(2) != image.shape(2)) return false;
  if (api != 1 && api != 2) return false;
  const std::uint8_t* const from = image.data();
  std::uint8_t* const to = out.data();
  const nb::gil_scoped_release release;
  const std::size_t bytes = static_cast<std::size_t>(3 * width);
  std::vector<std::uint8_t> pixels(bytes + ScratchBuffer::kSlack);
  const ops::Canvas row{pixels.data(), bytes, 3, {.height = 1, .width = width, .channels = 3}};
  for (std::int64_t y = 0; y < height; ++y) {
    Gather({from + y * image.stride(1), image.stride(0), image.stride(2)}, width, pixels.data());
    ops::TensorHue(row, static_cast<float>(factor), api);
    Scatter(pixels.data(), width, {to + y * out.stride(1), out.stride(0), out.stride(2)});
  }
  return true;
}

}  // namespace

void BindTensorColors(nb::module_& module) {
  module.def("turn_hue", &TurnHue, nb::arg("image"), nb::arg("factor"), nb::arg("api"),
             nb::arg("out"));
}

}  // namespace headrace
