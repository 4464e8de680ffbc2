#include "ops/vision/geometry/border.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "ops/vision/floats.h"

namespace headrace::ops {
namespace {

struct Border {
  std::int64_t before, after;
};

template <typename GetBorder>
std::span<const std::int64_t> Sources(std::int64_t side, std::int64_t start, std::int64_t length,
                                      std::span<const Padding> steps, PaddingMode mode,
                                      GetBorder border, ScratchBuffer& scratch) {
  const auto count = static_cast<std::size_t>(length);
  auto* positions = reinterpret_cast<std::int64_t*>(scratch.Ensure(count * sizeof(std::int64_t)));
  std::int64_t padded = side;
  for (const Padding& step : steps) padded += border(step).before + border(step).after;
  for (std::int64_t i = 0; i < length; ++i) positions[i] = start + i;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    padded -= border(*step).before + border(*step).after;
    for (std::int64_t i = 0; i < length; ++i) {
      positions[i] = BorderSource(positions[i] - border(*step).before, padded, mode);
    }
  }
  return {positions, count};
}

// Maps the rows and columns of `part` to their positions in the image.
struct Positions {
  std::span<const std::int64_t> rows, columns;
};

Positions PositionsOf(const ImageSpec& in, std::span<const Padding> steps, PaddingMode mode,
                      const Window& part, OpContext& context) {
  return {.rows = Sources(
              in.height, part.top, part.height, steps, mode,
              [](const Padding& p) {
                return Border{p.top, p.bottom};
              },
              context.scratch(0)),
          .columns = Sources(
              in.width, part.left, part.width, steps, mode,
              [](const Padding& p) {
                return Border{p.left, p.right};
              },
              context.scratch(1))};
}

}  // namespace

Status CheckBorder(std::int64_t side, std::int64_t before, std::int64_t after, PaddingMode mode) {
  const std::int64_t border = std::max(before, after);
  const bool longer = (mode == PaddingMode::kReflect && border >= side) ||
                      (mode == PaddingMode::kSymmetric && border > side);
  if (!longer || border == 0) return Status::Ok();
  return Unsupported("a border of " + std::to_string(border) + " reflects a side of " +
                     std::to_string(side) + " more than once");
}

std::int64_t BorderSource(std::int64_t i, std::int64_t side, PaddingMode mode) {
  if (i >= 0 && i < side) return i;
  switch (mode) {
    case PaddingMode::kReflect:
      return i < 0 ? -i : 2 * (side - 1) - i;
    case PaddingMode::kSymmetric:
      return i < 0 ? -i - 1 : 2 * side - 1 - i;
    case PaddingMode::kEdge:
    case PaddingMode::kConstant:
      break;
  }
  return i < 0 ? 0 : side - 1;
}

void PadAndCrop(const Image& in, std::span<const Padding> steps, PaddingMode mode,
                const Window& part, OpContext& context, ScratchBuffer& memory, Image* out) {
  const Positions from = PositionsOf(in.spec, steps, mode, part, context);
  const auto channels = static_cast<std::size_t>(in.spec.channels);
  const std::size_t bytes =
      in.spec.dtype == DType::kF32 ? FloatPixelBytes(in.spec.channels) : channels;
  out->pixel_stride = bytes;
  out->row_stride = from.columns.size() * bytes;
  std::uint8_t* to = memory.Ensure(from.rows.size() * out->row_stride);
  out->data = to;
  for (const std::int64_t y : from.rows) {
    for (const std::int64_t x : from.columns) {
      std::memcpy(to, in.At(y, x), bytes);
      to += bytes;
    }
  }
}

Window PadAndCropReads(const ImageSpec& in, std::span<const Padding> steps, PaddingMode mode,
                       const Window& part, OpContext& context) {
  const Positions from = PositionsOf(in, steps, mode, part, context);
  const auto [top, bottom] = std::ranges::minmax(from.rows);
  const auto [left, right] = std::ranges::minmax(from.columns);
  return {top, left, bottom - top + 1, right - left + 1};
}

}  // namespace headrace::ops
