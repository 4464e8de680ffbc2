#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// scipy.ndimage's cubic splines, and its nearest elements, of arrays with two axes. Each number is made by SciPy's
// operations in SciPy's order, in double, without fused ones. Source: scipy/ndimage/src/ni_splines.c and
// ni_interpolation.c. Thread-safe.
namespace headrace::images {

// An array of T with two axes, of any strides (elements).
template <typename T>
struct Plane {
  T* data;
  std::ptrdiff_t height, width;
  std::ptrdiff_t row, column;
};

// spline_filter1d of order 3 that mirrors at the ends, along axis 0 or 1, to packed rows of `out`, which may be the
// input's memory. REQUIRES: at least 4 elements along the axis.
void FilterSpline(const Plane<const float>& in, int axis, double* out);
void FilterSpline(const Plane<const double>& in, int axis, double* out);

// An array's size, or that of a result.
struct PlaneSize {
  std::ptrdiff_t height, width;
};

// zoom_shift of order 3 with the mode `constant` and no shift, of packed rows that were filtered. `zoom`: of each
// axis, by which places in the result are multiplied. REQUIRES: sides of `size` of at least 4.
void ZoomSpline(const double* filtered, const PlaneSize& size, const std::array<double, 2>& zoom,
                double outside, const PlaneSize& wanted, float* out);
void ZoomSpline(const double* filtered, const PlaneSize& size, const std::array<double, 2>& zoom,
                double outside, const PlaneSize& wanted, double* out);

// Where elements of a result come from: rows of the matrix, and what is added.
struct PlaneMap {
  std::array<double, 4> matrix;
  std::array<double, 2> offset;
};

// What an element is. Whole ones are kByte and kWord, of 1 and 4 bytes.
enum class Element : std::uint8_t { kByte, kWord, kFloat, kDouble };

// geometric_transform of order 0 with the mode `constant`, of packed elements. What is outside is zero.
void TakeNearest(const std::byte* in, const PlaneSize& size, Element element, const PlaneMap& map,
                 const PlaneSize& wanted, std::byte* out);

}  // namespace headrace::images
