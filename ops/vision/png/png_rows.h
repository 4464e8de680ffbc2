#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/vision/png/png_chunks.h"

namespace headrace::ops {

// The pixels of one pass over an image: those at (top + n row_step, left + m column_step). An image
// that is not interlaced has one pass, of all pixels.
struct PngPass {
  std::size_t top, left, row_step, column_step;
};
[[nodiscard]] std::span<const PngPass> PassesOf(const PngChunks& png);

// How many of `pixels`, from `first` on in steps, a pass meets.
[[nodiscard]] constexpr std::size_t Met(std::size_t pixels, std::size_t first, std::size_t step) {
  return pixels <= first ? 0 : (pixels - first + step - 1) / step;
}

[[nodiscard]] std::size_t BitsOfPixel(const PngChunks& png);
// Bytes of a row of that many pixels, without the filter byte.
[[nodiscard]] std::size_t RowBytes(const PngChunks& png, std::size_t pixels);
// Bytes of all passes, filter bytes included.
[[nodiscard]] std::size_t InflatedBytes(const PngChunks& png);

// Writes the first `pixels` pixels of a row without filters, `step` bytes apart, as PIL's modes L and
// P have them. REQUIRES: gray or a palette, of at most 8 bits.
void CopyIndices(const PngChunks& png, const std::uint8_t* row, std::size_t pixels,
                 std::size_t step, std::uint8_t* out);

// Turns rows without filters into PIL's RGB: Image.open(file).convert("RGB").
class PngColors {
 public:
  // `png` is kept by reference.
  explicit PngColors(const PngChunks& png);

  // Writes the first `pixels` pixels of a row as RGB, `step` bytes apart. With `wide`, a fourth
  // byte is written too; it is undefined.
  void Convert(const std::uint8_t* row, std::size_t pixels, std::size_t step, bool wide,
               std::uint8_t* out);

  // True if a pixel so far had no colour in the palette. PIL decides what it shows there.
  [[nodiscard]] bool lacked_colors() const { return largest_ >= colors_; }

 private:
  void MapIndices(const std::uint8_t* row, std::size_t pixels, std::size_t step, bool wide,
                  std::uint8_t* out);

  const PngChunks& png_;
  std::array<std::uint8_t, 1024> palette_{};  // 4 bytes a colour
  int colors_ = 256;                          // of the palette
  int largest_ = 0;                           // index so far
};

}  // namespace headrace::ops
