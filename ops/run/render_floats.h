#pragma once

#include "base/buffer.h"
#include "ops/core/chain.h"
#include "ops/vision/fold/fold.h"
#include "ops/vision/image.h"

// Folded passes that make float32 images, for operators that compute on them, and passes over what
// such operators made. See ops/run/render.h for those over uint8.
namespace headrace::ops {

// The nodes of a chain that lie between two that compute. Those that map send each value through
// OpSchema::Map, or FloatMap where that gives the same bits sooner.
struct NodeRange {
  const Chain* chain = nullptr;
  int first = 0, last = 0;
};

// Makes the pass's image of uint8 values: `table` has the float32 element for each value of each
// channel (ValueTable). *out is a view of `memory`. `scratch` is another buffer.
void RenderToFloats(const Image& in, const FoldedPass& fold, ByteSpan table, ScratchBuffer& scratch,
                    ScratchBuffer& memory, Image* out);

// Makes the pass's float32 image of a float32 image. *out is a view of `in` or of `memory`.
void RenderFloats(const Image& in, const FoldedPass& fold, const NodeRange& maps,
                  ScratchBuffer& memory, Image* out);

// Makes the pass's CHW tensor of a float32 image, and writes it to `out`. REQUIRES: out.size() ==
// fold.spec().bytes(), aligned for an element.
void RenderFloatOutput(const Image& in, const FoldedPass& fold, const NodeRange& maps,
                       ScratchBuffer& scratch, MutableByteSpan out);

}  // namespace headrace::ops
