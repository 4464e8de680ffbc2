#include "ops/core/border.h"

#include <algorithm>
#include <cstring>
#include <string>

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

void PadAndCrop(const Image& in, std::span<const Padding> steps, PaddingMode mode, std::int64_t top,
                std::int64_t left, OpContext& context, ScratchBuffer& memory, Image* out) {
  const ImageSpec& spec = out->spec;
  const auto rows = Sources(
      in.spec.height, top, spec.height, steps, mode,
      [](const Padding& p) {
        return Border{p.top, p.bottom};
      },
      context.scratch(0));
  const auto columns = Sources(
      in.spec.width, left, spec.width, steps, mode,
      [](const Padding& p) {
        return Border{p.left, p.right};
      },
      context.scratch(1));
  const auto channels = static_cast<std::size_t>(spec.channels);
  std::uint8_t* to = memory.Ensure(spec.bytes());
  out->data = to;
  out->pixel_stride = channels;
  out->row_stride = static_cast<std::size_t>(spec.width) * channels;
  out->held = {0, 0, spec.height, spec.width};
  for (const std::int64_t y : rows) {
    for (const std::int64_t x : columns) {
      std::memcpy(to, in.At(y, x), channels);
      to += channels;
    }
  }
}

}  // namespace headrace::ops
