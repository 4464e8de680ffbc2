#include "ops/vision/png/png_rows.h"

#include <algorithm>
#include <cstring>

namespace headrace::ops {
namespace {

constexpr std::array<PngPass, 1> kWhole = {{{0, 0, 1, 1}}};
constexpr std::array<PngPass, 7> kAdam7 = {{{0, 0, 8, 8},
                                            {0, 4, 8, 8},
                                            {4, 0, 8, 4},
                                            {0, 2, 4, 4},
                                            {2, 0, 4, 2},
                                            {0, 1, 2, 2},
                                            {1, 0, 2, 1}}};

// The sample of `depth` bits, at most 8, at a place in a row.
int SmallSample(const std::uint8_t* row, std::size_t at, int depth) {
  const std::size_t bit = at * static_cast<std::size_t>(depth);
  const int shift = 8 - depth - static_cast<int>(bit % 8);
  return row[bit / 8] >> shift & ((1 << depth) - 1);
}

// Calls value(x) for each pixel, which is its gray value.
template <typename Value>
void WriteGray(std::size_t pixels, std::size_t step, std::uint8_t* out, Value value) {
  for (std::size_t x = 0; x < pixels; ++x, out += step) {
    out[0] = out[1] = out[2] = static_cast<std::uint8_t>(value(x));
  }
}

// Takes the first byte of three samples `apart` bytes from each other.
void WriteColors(const std::uint8_t* row, std::size_t pixels, std::size_t unit, std::size_t apart,
                 std::size_t step, std::uint8_t* out) {
  for (std::size_t x = 0; x < pixels; ++x, row += unit, out += step) {
    out[0] = row[0];
    out[1] = row[apart];
    out[2] = row[2 * apart];
  }
}

}  // namespace

std::span<const PngPass> PassesOf(const PngChunks& png) {
  if (png.interlaced) return kAdam7;
  return kWhole;
}

std::size_t BitsOfPixel(const PngChunks& png) {
  const int samples = png.color == 2 ? 3 : png.color == 4 ? 2 : png.color == 6 ? 4 : 1;
  return static_cast<std::size_t>(samples * png.depth);
}

std::size_t RowBytes(const PngChunks& png, std::size_t pixels) {
  return (pixels * BitsOfPixel(png) + 7) / 8;
}

std::size_t InflatedBytes(const PngChunks& png) {
  std::size_t bytes = 0;
  for (const PngPass& pass : PassesOf(png)) {
    const std::size_t rows = Met(static_cast<std::size_t>(png.height), pass.top, pass.row_step);
    const std::size_t pixels =
        Met(static_cast<std::size_t>(png.width), pass.left, pass.column_step);
    if (pixels > 0) bytes += rows * (1 + RowBytes(png, pixels));
  }
  return bytes;
}

void CopyIndices(const PngChunks& png, const std::uint8_t* row, std::size_t pixels,
                 std::size_t step, std::uint8_t* out) {
  const int unit = png.color == 0 ? 255 / ((1 << png.depth) - 1) : 1;
  for (std::size_t x = 0; x < pixels; ++x, out += step) {
    *out = static_cast<std::uint8_t>(SmallSample(row, x, png.depth) * unit);
  }
}

PngColors::PngColors(const PngChunks& png) : png_(png) {
  if (png.color != 3) return;
  colors_ = static_cast<int>(std::min<std::size_t>(png.palette.size() / 3, 256));
  for (int i = 0; i < colors_; ++i) std::memcpy(&palette_[4 * i], &png.palette[3 * i], 3);
}

void PngColors::MapIndices(const std::uint8_t* row, std::size_t pixels, std::size_t step, bool wide,
                           std::uint8_t* out) {
  int largest = largest_;
  const auto map = [&](auto index_of) {
    for (std::size_t x = 0; x < pixels; ++x, out += step) {
      const int index = index_of(x);
      largest = std::max(largest, index);
      std::memcpy(out, &palette_[4 * index], wide ? 4 : 3);
    }
  };
  if (png_.depth == 8) {
    map([&](std::size_t x) { return int{row[x]}; });
  } else {
    map([&](std::size_t x) { return SmallSample(row, x, png_.depth); });
  }
  largest_ = largest;
}

void PngColors::Convert(const std::uint8_t* row, std::size_t pixels, std::size_t step, bool wide,
                        std::uint8_t* out) {
  const int depth = png_.depth;
  const std::size_t unit = BitsOfPixel(png_) / 8;
  switch (png_.color) {
    case 0:
      if (depth == 8) return WriteGray(pixels, step, out, [&](std::size_t x) { return row[x]; });
      if (depth == 16) {  // mode I;16, which PIL cuts off at 255
        return WriteGray(pixels, step, out,
                         [&](std::size_t x) { return row[2 * x] != 0 ? 255 : row[2 * x + 1]; });
      }
      return WriteGray(pixels, step, out, [&](std::size_t x) {
        return SmallSample(row, x, depth) * (255 / ((1 << depth) - 1));
      });
    case 3:
      return MapIndices(row, pixels, step, wide, out);
    case 4:
      return WriteGray(pixels, step, out, [&](std::size_t x) { return row[x * unit]; });
    default:
      return WriteColors(row, pixels, unit, depth == 16 ? 2 : 1, step, out);
  }
}

}  // namespace headrace::ops
