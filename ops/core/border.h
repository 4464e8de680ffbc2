#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "ops/core/schema_util.h"

// Padding with a border that is made from the image itself (numpy.pad's modes).
namespace headrace::ops {

// kUnsupported for a border longer than one reflection of the side gives.
Status CheckBorder(std::int64_t side, std::int64_t before, std::int64_t after, PaddingMode mode);

// Where position `i` of the padded side, minus `before`, is found in the side itself.
// REQUIRES: CheckBorder said yes, -before <= i < side + after, mode is not kConstant.
[[nodiscard]] std::int64_t BorderSource(std::int64_t i, std::int64_t side, PaddingMode mode);

// Pads an image step by step, then takes the window of out->spec's size at (top, left). Only the
// window's pixels are made: packed, in `memory`; uses scratch 0 and 1.
// REQUIRES: CheckBorder said yes to every step; the window is inside the padded image.
void PadAndCrop(const Image& in, std::span<const Padding> steps, PaddingMode mode, std::int64_t top,
                std::int64_t left, OpContext& context, ScratchBuffer& memory, Image* out);

}  // namespace headrace::ops
