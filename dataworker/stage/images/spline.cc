#include "dataworker/stage/images/spline.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace headrace::images {
namespace {

// Lines that are filtered at once: each number depends on the one before it in its line.
constexpr std::size_t kLines = 16;

// The square root of 3, less 2, rounded once.
constexpr double kPole = -0.267949192431122706472553658494127633;

using Numbers = double[kLines];

// SciPy's apply_filter: the gain, the first number by mirroring, the pass forth, and the same back.
void FilterLines(Numbers* line, std::ptrdiff_t count) {
  const double z = kPole;
  const double gain = (1.0 - z) * (1.0 - 1.0 / z);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < kLines; ++k) line[i][k] *= gain;
  }
  const double last = std::pow(z, static_cast<double>(count - 1));
  for (std::size_t k = 0; k < kLines; ++k) line[0][k] = line[0][k] + last * line[count - 1][k];
  double power = z;
  for (std::ptrdiff_t i = 1; i < count - 1; ++i) {
    const double* const there = line[i];
    const double* const back = line[count - 1 - i];
    for (std::size_t k = 0; k < kLines; ++k) line[0][k] += power * (there[k] + last * back[k]);
    power *= z;
  }
  for (std::size_t k = 0; k < kLines; ++k) line[0][k] /= 1 - last * last;
  for (std::ptrdiff_t i = 1; i < count; ++i) {
    for (std::size_t k = 0; k < kLines; ++k) line[i][k] += z * line[i - 1][k];
  }
  Numbers& end = line[count - 1];
  for (std::size_t k = 0; k < kLines; ++k) {
    end[k] = (z * line[count - 2][k] + end[k]) * z / (z * z - 1);
  }
  for (std::ptrdiff_t i = count - 2; i >= 0; --i) {
    for (std::size_t k = 0; k < kLines; ++k) line[i][k] = z * (line[i + 1][k] - line[i][k]);
  }
}

template <typename T>
void Filter(const Plane<const T>& in, int axis, double* out) {
  const std::ptrdiff_t count = axis == 0 ? in.height : in.width;
  const std::ptrdiff_t lines = axis == 0 ? in.width : in.height;
  const std::ptrdiff_t step = axis == 0 ? in.row : in.column;
  const std::ptrdiff_t next = axis == 0 ? in.column : in.row;
  const std::ptrdiff_t out_step = axis == 0 ? in.width : 1;
  const std::ptrdiff_t out_next = axis == 0 ? 1 : in.width;
  std::vector<double> memory(static_cast<std::size_t>(count) * kLines);
  auto* const line = reinterpret_cast<Numbers*>(memory.data());
  for (std::ptrdiff_t first = 0; first < lines; first += kLines) {
    const auto some = std::min<std::ptrdiff_t>(kLines, lines - first);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const T* const from = in.data + i * step + first * next;
      for (std::ptrdiff_t k = 0; k < some; ++k) line[i][k] = static_cast<double>(from[k * next]);
    }
    FilterLines(line, count);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      double* const to = out + i * out_step + first * out_next;
      for (std::ptrdiff_t k = 0; k < some; ++k) to[k * out_next] = line[i][k];
    }
  }
}

// The four numbers along one axis that a number of the result is a sum of.
struct Taps {
  bool inside = false;
  std::array<std::ptrdiff_t, 4> at{};
  std::array<double, 4> weights{};
};

Taps TapsAt(double place, std::ptrdiff_t count) {
  Taps taps;
  taps.inside = place >= 0 && place <= static_cast<double>(count - 1);
  if (!taps.inside) return taps;
  const double whole = std::floor(place);
  for (std::ptrdiff_t i = 0; i < 4; ++i) {
    const std::ptrdiff_t at = std::abs(static_cast<std::ptrdiff_t>(whole) - 1 + i);
    taps.at[static_cast<std::size_t>(i)] = at < count ? at : 2 * (count - 1) - at;
  }
  const double y = place - whole;
  const double z = 1.0 - y;
  taps.weights[1] = (y * y * (y - 2.0) * 3.0 + 4.0) / 6.0;
  taps.weights[2] = (z * z * (z - 2.0) * 3.0 + 4.0) / 6.0;
  taps.weights[0] = z * z * z / 6.0;
  taps.weights[3] = 1.0;
  for (std::size_t i = 0; i < 3; ++i) taps.weights[3] -= taps.weights[i];
  return taps;
}

std::vector<Taps> AllTaps(std::ptrdiff_t wanted, std::ptrdiff_t count, double zoom) {
  std::vector<Taps> taps;
  for (std::ptrdiff_t i = 0; i < wanted; ++i) {
    taps.push_back(TapsAt(static_cast<double>(i) * zoom, count));
  }
  return taps;
}

template <typename T>
void Zoom(const double* filtered, const PlaneSize& size, const std::array<double, 2>& zoom,
          double outside, const PlaneSize& wanted, T* out) {
  const std::vector<Taps> rows = AllTaps(wanted.height, size.height, zoom[0]);
  const std::vector<Taps> columns = AllTaps(wanted.width, size.width, zoom[1]);
  const auto width = static_cast<std::size_t>(size.width);
  std::vector<double> weighted(4 * width);  // four rows, by their weights
  for (const Taps& row : rows) {
    for (std::size_t i = 0; i < 4 && row.inside; ++i) {
      const double* const from = filtered + row.at[i] * size.width;
      double* const to = weighted.data() + i * width;
      for (std::size_t x = 0; x < width; ++x) to[x] = from[x] * row.weights[i];
    }
    for (const Taps& column : columns) {
      double sum = outside;
      if (row.inside && column.inside) {
        sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          const double* const from = weighted.data() + i * width;
          for (std::size_t j = 0; j < 4; ++j) sum += from[column.at[j]] * column.weights[j];
        }
      }
      *out++ = static_cast<T>(sum);
    }
  }
}

template <typename T>
void Nearest(const T* in, const PlaneSize& size, const PlaneMap& map, const PlaneSize& wanted,
             T* out) {
  const auto [yy, yx, xy, xx] = map.matrix;
  const double bottom = static_cast<double>(size.height - 1);
  const double right = static_cast<double>(size.width - 1);
  for (std::ptrdiff_t y = 0; y < wanted.height; ++y) {
    const double y_of_y = map.offset[0] + static_cast<double>(y) * yy;
    const double x_of_y = map.offset[1] + static_cast<double>(y) * xy;
    for (std::ptrdiff_t x = 0; x < wanted.width; ++x) {
      const double at_y = y_of_y + static_cast<double>(x) * yx;
      const double at_x = x_of_y + static_cast<double>(x) * xx;
      const bool inside = at_y >= 0 && at_y <= bottom && at_x >= 0 && at_x <= right;
      T value{};
      if (inside) {
        // Not negative, so that a cut is a rounding down.
        value = in[static_cast<std::ptrdiff_t>(at_y + 0.5) * size.width +
                   static_cast<std::ptrdiff_t>(at_x + 0.5)];
        // SciPy adds it to zero, which has a sign of its own.
        if constexpr (std::is_floating_point_v<T>) value += T{};
      }
      *out++ = value;
    }
  }
}

template <typename T>
void NearestAs(const std::byte* in, const PlaneSize& size, const PlaneMap& map,
               const PlaneSize& wanted, std::byte* out) {
  Nearest(reinterpret_cast<const T*>(in), size, map, wanted, reinterpret_cast<T*>(out));
}

}  // namespace

void FilterSpline(const Plane<const float>& in, int axis, double* out) { Filter(in, axis, out); }

void FilterSpline(const Plane<const double>& in, int axis, double* out) { Filter(in, axis, out); }

void ZoomSpline(const double* filtered, const PlaneSize& size, const std::array<double, 2>& zoom,
                double outside, const PlaneSize& wanted, float* out) {
  Zoom(filtered, size, zoom, outside, wanted, out);
}

void ZoomSpline(const double* filtered, const PlaneSize& size, const std::array<double, 2>& zoom,
                double outside, const PlaneSize& wanted, double* out) {
  Zoom(filtered, size, zoom, outside, wanted, out);
}

void TakeNearest(const std::byte* in, const PlaneSize& size, Element element, const PlaneMap& map,
                 const PlaneSize& wanted, std::byte* out) {
  switch (element) {
    case Element::kByte:
      return NearestAs<std::uint8_t>(in, size, map, wanted, out);
    case Element::kWord:
      return NearestAs<std::uint32_t>(in, size, map, wanted, out);
    case Element::kFloat:
      return NearestAs<float>(in, size, map, wanted, out);
    case Element::kDouble:
      return NearestAs<double>(in, size, map, wanted, out);
  }
}

}  // namespace headrace::images
