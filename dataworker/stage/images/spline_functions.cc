#include "dataworker/stage/images/spline_functions.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "dataworker/stage/images/spline.h"

namespace nb = nanobind;

namespace headrace {
namespace {

constexpr std::size_t kMostSide = 1 << 15;
constexpr std::size_t kLeastSide = 4;  // of what is filtered

template <typename T>
using In = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <typename T>
using Packed = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using OutBytes = nb::ndarray<std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <typename Array>
bool HasSides(const Array& array, std::size_t least) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (array.shape(axis) < least || array.shape(axis) > kMostSide) return false;
  }
  return true;
}

template <typename Array>
images::PlaneSize SizeOf(const Array& array) {
  return {static_cast<std::ptrdiff_t>(array.shape(0)), static_cast<std::ptrdiff_t>(array.shape(1))};
}

template <typename T>
bool Filter(const In<T>& in, int axis, const Packed<double>& out) {
  if (!HasSides(in, kLeastSide) || (axis != 0 && axis != 1)) return false;
  if (in.shape(0) != out.shape(0) || in.shape(1) != out.shape(1)) return false;
  const auto [height, width] = SizeOf(in);
  const images::Plane<const T> plane{in.data(), height, width, in.stride(0), in.stride(1)};
  double* const to = out.data();
  const nb::gil_scoped_release release;
  images::FilterSpline(plane, axis, to);
  return true;
}

template <typename T>
bool Zoom(const Packed<const double>& filtered, const std::array<double, 2>& zoom, double outside,
          const Packed<T>& out) {
  if (!HasSides(filtered, kLeastSide) || !HasSides(out, 1)) return false;
  const double* const from = filtered.data();
  T* const to = out.data();
  const images::PlaneSize size = SizeOf(filtered), wanted = SizeOf(out);
  const nb::gil_scoped_release release;
  images::ZoomSpline(from, size, zoom, outside, wanted, to);
  return true;
}

std::optional<images::Element> ElementOf(std::size_t bytes, bool fractions) {
  if (fractions && bytes == sizeof(float)) return images::Element::kFloat;
  if (fractions && bytes == sizeof(double)) return images::Element::kDouble;
  if (!fractions && bytes == 1) return images::Element::kByte;
  if (!fractions && bytes == 4) return images::Element::kWord;
  return {};
}

bool Nearest(const Bytes& in, bool fractions, const std::array<double, 4>& matrix,
             const std::array<double, 2>& offset, const OutBytes& out) {
  const auto element = ElementOf(in.shape(2), fractions);
  if (!HasSides(in, 1) || !HasSides(out, 1) || !element || out.shape(2) != in.shape(2)) {
    return false;
  }
  const auto* const from = reinterpret_cast<const std::byte*>(in.data());
  auto* const to = reinterpret_cast<std::byte*>(out.data());
  const images::PlaneSize size = SizeOf(in), wanted = SizeOf(out);
  const nb::gil_scoped_release release;
  images::TakeNearest(from, size, *element, {matrix, offset}, wanted, to);
  return true;
}

}  // namespace

void BindSplineFunctions(nb::module_& module) {
  module.def("filter_spline", &Filter<float>, nb::arg("src"), nb::arg("axis"), nb::arg("out"));
  module.def("filter_spline", &Filter<double>, nb::arg("src"), nb::arg("axis"), nb::arg("out"));
  module.def("zoom_spline", &Zoom<float>, nb::arg("filtered"), nb::arg("zoom"), nb::arg("outside"),
             nb::arg("out"));
  module.def("zoom_spline", &Zoom<double>, nb::arg("filtered"), nb::arg("zoom"), nb::arg("outside"),
             nb::arg("out"));
  module.def("take_nearest", &Nearest, nb::arg("src"), nb::arg("fractions"), nb::arg("matrix"),
             nb::arg("offset"), nb::arg("out"));
}

}  // namespace headrace
