#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/core/element.h"
#include "ops/vision/fold/fold.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {

// Renders the result of `fold`, u8 HWC: a view of `in` if possible, else in `memory`. REQUIRES:
// `in` is fold's source image and holds fold.SourceWindow(); fold.spec() is u8 HWC.
void RenderImage(const Image& in, const FoldedPass& fold, ScratchBuffer& memory, Image* out);

// Renders the same without the fills, of which the values have no meaning there: a view of `in` if
// possible, else in `memory`. REQUIRES: as above, but fold.spec() may have any type and layout.
[[nodiscard]] Image RenderBytes(const Image& in, const FoldedPass& fold, ScratchBuffer& memory);

// Renders the end of a chain densely to `out`, in the layout and type of fold.spec(). `table` maps
// the values to elements of that type: channels x 256, aligned for it; not looked at for u8 HWC, and
// empty if they stay u8.
// `scratch` holds a small copy if the image extends beyond its source. REQUIRES: as above;
// out.size() == fold.spec().bytes().
void RenderOutput(const Image& in, const FoldedPass& fold, ByteSpan table, ScratchBuffer& scratch,
                  MutableByteSpan out);

// Writes the fills of `fold` over the CHW elements of its image. REQUIRES: T has their size.
template <typename T>
void FillPlanes(const FoldedPass& fold, std::span<T> planes) {
  const ImageSpec& spec = fold.spec();
  for (const FoldedPass::Fill& fill : fold.fills()) {
    for (std::int64_t c = 0; c < spec.channels; ++c) {
      const T value = ElementAs<T>(spec.dtype, fill.value[static_cast<std::size_t>(c)]);
      for (std::int64_t y = 0; y < fill.where.height; ++y) {
        const std::int64_t row = (c * spec.height + fill.where.top + y) * spec.width;
        std::ranges::fill(planes.subspan(static_cast<std::size_t>(row + fill.where.left),
                                         static_cast<std::size_t>(fill.where.width)),
                          value);
      }
    }
  }
}

}  // namespace headrace::ops
