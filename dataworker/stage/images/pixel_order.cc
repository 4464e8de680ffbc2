#include "dataworker/stage/images/pixel_order.h"

#include <immintrin.h>

#include <array>

#define HR_TARGET __attribute__((target("avx2")))

namespace headrace::images {
namespace {

using Shuffle = std::array<std::int8_t, 16>;

// The channel that is the i-th one of the result.
int ChannelOf(int i, const Order& order) { return order.reversed ? 2 - i : i; }

// For plane `plane` of 16 pixels: which byte of the load of 16 bytes comes where.
Shuffle PlaneShuffle(int plane, int load, const Order& order) {
  Shuffle bytes{};
  for (int i = 0; i < 16; ++i) {
    const int pixel = order.mirrored ? 15 - i : i;
    const int from = 3 * pixel + ChannelOf(plane, order) - 16 * load;
    bytes[i] = static_cast<std::int8_t>(from >= 0 && from < 16 ? from : -1);
  }
  return bytes;
}

// For five pixels.
Shuffle PixelShuffle(const Order& order) {
  Shuffle bytes{};
  for (int i = 0; i < 15; ++i) {
    const int pixel = order.mirrored ? 4 - i / 3 : i / 3;
    bytes[i] = static_cast<std::int8_t>(3 * pixel + ChannelOf(i % 3, order));
  }
  bytes[15] = -1;
  return bytes;
}

HR_TARGET __m128i Load(const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }

// One pixel; x counts results.
void CopyPixel(const std::uint8_t* row, std::ptrdiff_t x, std::ptrdiff_t width, const Order& order,
               const std::array<std::uint8_t*, 3>& out, std::ptrdiff_t step) {
  const std::uint8_t* pixel = row + 3 * (order.mirrored ? width - 1 - x : x);
  for (int i = 0; i < 3; ++i) out[i][x * step] = pixel[ChannelOf(i, order)];
}

class ToPlanes {
 public:
  explicit ToPlanes(const Order& order) : order_(order) {
    for (int plane = 0; plane < 3; ++plane) {
      for (int load = 0; load < 3; ++load) {
        shuffles_[plane][load] = PlaneShuffle(plane, load, order);
      }
    }
  }

  HR_TARGET void Row(const std::uint8_t* row, std::ptrdiff_t width,
                     const std::array<std::uint8_t*, 3>& out) const {
    std::ptrdiff_t x = 0;
    for (; x + 16 <= width; x += 16) {
      const std::uint8_t* from = row + 3 * (order_.mirrored ? width - 16 - x : x);
      const __m128i loads[3] = {Load(from), Load(from + 16), Load(from + 32)};
      for (int plane = 0; plane < 3; ++plane) {
        __m128i bytes = _mm_shuffle_epi8(loads[0], Load(&shuffles_[plane][0]));
        bytes = _mm_or_si128(bytes, _mm_shuffle_epi8(loads[1], Load(&shuffles_[plane][1])));
        bytes = _mm_or_si128(bytes, _mm_shuffle_epi8(loads[2], Load(&shuffles_[plane][2])));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out[plane] + x), bytes);
      }
    }
    for (; x < width; ++x) CopyPixel(row, x, width, order_, out, 1);
  }

 private:
  const Order order_;
  std::array<std::array<Shuffle, 3>, 3> shuffles_;
};

class ToPixels {
 public:
  explicit ToPixels(const Order& order) : order_(order), shuffle_(PixelShuffle(order)) {}

  // Reads and writes whole groups of 16 bytes inside the row only.
  HR_TARGET void Row(const std::uint8_t* row, std::ptrdiff_t width, std::uint8_t* out) const {
    std::ptrdiff_t x = 0;
    const __m128i shuffle = Load(&shuffle_);
    for (; x + 6 <= width; x += 5) {
      // Mirrored, the five pixels end where the 16 bytes end that begin one byte before them.
      const std::uint8_t* from = row + 3 * (order_.mirrored ? width - 5 - x : x);
      const __m128i bytes = order_.mirrored ? _mm_srli_si128(Load(from - 1), 1) : Load(from);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * x), _mm_shuffle_epi8(bytes, shuffle));
    }
    for (; x < width; ++x) CopyPixel(row, x, width, order_, {out, out + 1, out + 2}, 3);
  }

 private:
  const Order order_;
  const Shuffle shuffle_;
};

}  // namespace

void CopyPixels(const Pixels& in, const Order& order, std::uint8_t* out) {
  const std::ptrdiff_t plane = in.height * in.width;
  const ToPlanes planes(order);
  const ToPixels pixels(order);
  for (std::ptrdiff_t y = 0; y < in.height; ++y) {
    const std::uint8_t* row = in.data + y * in.stride;
    std::uint8_t* to = out + y * in.width * (order.planar ? 1 : 3);
    if (order.planar) {
      planes.Row(row, in.width, {to, to + plane, to + 2 * plane});
    } else {
      pixels.Row(row, in.width, to);
    }
  }
}

}  // namespace headrace::images
