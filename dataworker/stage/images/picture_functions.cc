#include "dataworker/stage/images/picture_functions.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "dataworker/stage/images/normalize.h"
#include "dataworker/stage/images/pixel_order.h"
#include "ops/vision/opencv/opencv_resize.h"
#include "ops/vision/opencv/opencv_warp.h"

namespace nb = nanobind;

namespace headrace {
namespace {

// Of any strides, and read only.
using In = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::device::cpu>;
using Out = nb::ndarray<std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

constexpr std::size_t kMostSide = 32767;

bool IsSmall(std::size_t side) { return side > 0 && side <= kMostSide; }

// Of an array of rows of pixels, as OpenCV takes it.
std::optional<images::Pixels> RowsOf(const In& in) {
  if (!images::HasKernels() || in.shape(2) != 3 || in.stride(2) != 1 || in.stride(1) != 3)
    return {};
  if (!IsSmall(in.shape(0)) || !IsSmall(in.shape(1))) return {};
  const auto width = static_cast<std::ptrdiff_t>(in.shape(1));
  if (in.stride(0) < 3 * width) return {};
  return images::Pixels{in.data(), static_cast<std::ptrdiff_t>(in.shape(0)), width, in.stride(0)};
}

bool IsPicture(const Out& out) {
  return out.shape(2) == 3 && IsSmall(out.shape(0)) && IsSmall(out.shape(1));
}

template <auto Kernel>
bool Resize(const In& in, const Out& out) {
  const auto rows = RowsOf(in);
  if (!rows || !IsPicture(out)) return false;
  std::uint8_t* const pixels = out.data();
  const auto height = static_cast<std::ptrdiff_t>(out.shape(0));
  const auto width = static_cast<std::ptrdiff_t>(out.shape(1));
  const nb::gil_scoped_release release;
  return Kernel(*rows, height, width, pixels);
}

// OpenCV's numbers of borders.
std::optional<images::Border> BorderOf(int number) {
  switch (number) {
    case 0:
      return images::Border::kConstant;
    case 1:
      return images::Border::kReplicate;
    case 2:
      return images::Border::kReflect;
    case 4:
      return images::Border::kReflect101;
    default:
      return {};
  }
}

bool WarpLinear(const In& in, const std::array<double, 6>& matrix, bool inverted, int border,
                const std::array<std::uint8_t, 3>& outside, const Out& out) {
  const auto rows = RowsOf(in);
  const auto known = BorderOf(border);
  if (!rows || !known || !IsPicture(out)) return false;
  const images::Warp warp{inverted ? matrix : images::Inverted(matrix), *known, outside};
  std::uint8_t* const pixels = out.data();
  const auto height = static_cast<std::ptrdiff_t>(out.shape(0));
  const auto width = static_cast<std::ptrdiff_t>(out.shape(1));
  const nb::gil_scoped_release release;
  return images::WarpLinear(*rows, warp, height, width, pixels);
}

bool Copy(const In& in, const Out& out) {
  const bool planar = in.shape(2) != 3 || std::abs(in.stride(2)) != 1;
  const int channel = planar ? 0 : 2;
  const int row = planar ? 1 : 0;
  const int column = planar ? 2 : 1;
  if (!images::HasKernels() || in.shape(channel) != 3 || std::abs(in.stride(channel)) != 1 ||
      std::abs(in.stride(column)) != 3) {
    return false;
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (in.shape(axis) != out.shape(axis) || in.shape(axis) == 0) return false;
  }
  const images::Order order{planar, in.stride(column) < 0, in.stride(channel) < 0};
  const auto width = static_cast<std::ptrdiff_t>(in.shape(column));
  const std::uint8_t* lowest = in.data();
  if (order.mirrored) lowest += (width - 1) * in.stride(column);
  if (order.reversed) lowest += 2 * in.stride(channel);
  const images::Pixels pixels{lowest, static_cast<std::ptrdiff_t>(in.shape(row)), width,
                              in.stride(row)};
  std::uint8_t* const to = out.data();
  const nb::gil_scoped_release release;
  images::CopyPixels(pixels, order, to);
  return true;
}

bool Normalize(const In& in, const std::array<float, 3>& mean, const std::array<float, 3>& factor,
               const Floats& out) {
  const auto rows = RowsOf(in);
  if (!rows || out.size() != in.size()) return false;
  float* const to = out.data();
  const nb::gil_scoped_release release;
  for (std::ptrdiff_t y = 0; y < rows->height; ++y) {
    images::NormalizePixels(rows->data + y * rows->stride, static_cast<std::size_t>(rows->width),
                            mean, factor, to + 3 * y * rows->width);
  }
  return true;
}

}  // namespace

void BindPictureFunctions(nb::module_& module) {
  module.def("resize_linear", &Resize<&images::ResizeLinear>, nb::arg("src"), nb::arg("out"));
  module.def("resize_area", &Resize<&images::ResizeArea>, nb::arg("src"), nb::arg("out"));
  module.def("warp_linear", &WarpLinear, nb::arg("src"), nb::arg("matrix"), nb::arg("inverted"),
             nb::arg("border"), nb::arg("outside"), nb::arg("out"));
  module.def("copy_pixels", &Copy, nb::arg("src"), nb::arg("out"));
  module.def("normalize_pixels", &Normalize, nb::arg("src"), nb::arg("mean"), nb::arg("factor"),
             nb::arg("out"));
}

}  // namespace headrace
