#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "ops/vision/schema_util.h"

// Padding with a border made from the image itself (numpy.pad's modes).
namespace headrace::ops {

// kUnsupported: the border is longer than one reflection of the side gives.
Status CheckBorder(std::int64_t side, std::int64_t before, std::int64_t after, PaddingMode mode);

// Maps position `i` of the padded side, minus `before`, to its position in the side itself.
// REQUIRES: CheckBorder said yes, -before <= i < side + after, mode is not kConstant.
[[nodiscard]] std::int64_t BorderSource(std::int64_t i, std::int64_t side, PaddingMode mode);

// Pads an image step by step, then takes `part`. Makes only the pixels of `part`, packed in
// `memory`. Uses scratch 0 and 1. REQUIRES: CheckBorder said yes to every step; `part` is inside
// the padded image.
void PadAndCrop(const Image& in, std::span<const Padding> steps, PaddingMode mode,
                const Window& part, OpContext& context, ScratchBuffer& memory, Image* out);

// The window that PadAndCrop reads of an image of spec `in`. REQUIRES: as above.
[[nodiscard]] Window PadAndCropReads(const ImageSpec& in, std::span<const Padding> steps,
                                     PaddingMode mode, const Window& part, OpContext& context);

}  // namespace headrace::ops
