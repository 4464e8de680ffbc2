#pragma once

#include <span>

#include "ops/vision/fold/fold.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {

// Renders the result of `fold`, u8 HWC: a view of `in` if possible, else in `memory`. REQUIRES:
// `in` is fold's source image and holds fold.SourceWindow(); fold.spec() is u8 HWC.
void RenderImage(const Image& in, const FoldedPass& fold, ScratchBuffer& memory, Image* out);

// Renders the end of a chain densely to `out`, in the layout and type of fold.spec(). `table` maps
// the values to elements of that type: channels x 256, aligned for it; not looked at for u8 HWC, and
// empty if they stay u8.
// `scratch` holds a small copy if the image extends beyond its source. REQUIRES: as above;
// out.size() == fold.spec().bytes().
void RenderOutput(const Image& in, const FoldedPass& fold, ByteSpan table, ScratchBuffer& scratch,
                  MutableByteSpan out);

}  // namespace headrace::ops
