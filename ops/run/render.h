#pragma once

#include <span>

#include "ops/core/op.h"
#include "ops/vision/fold/fold.h"

namespace headrace::ops {

// The image behind `fold`, u8 HWC, as a view of `in` where that is possible, else in `memory`.
// REQUIRES: `in` is fold's source image and holds fold.SourceWindow(); fold.spec() is u8 HWC.
void RenderImage(const Image& in, const FoldedPass& fold, ScratchBuffer& memory, Image* out);

// The end of a chain: the same, written densely to `out` in the layout and type of fold.spec().
// `table` maps the values to elements of that type, channels x 256, aligned for it; empty when they
// stay u8. `scratch` holds a small copy
// when the image reaches out of its source. REQUIRES: as above; out.size() == fold.spec().bytes().
void RenderOutput(const Image& in, const FoldedPass& fold, ByteSpan table, ScratchBuffer& scratch,
                  MutableByteSpan out);

}  // namespace headrace::ops
