#pragma once

#include "base/buffer.h"
#include "base/result.h"
#include "ops/vision/image.h"

// What the cache keeps of a sample after the pure prefix: a header, the packed u8 HWC pixels, and
// ScratchBuffer::kSlack bytes, so that kernels read the pixels in place.
namespace headrace::ops {

struct Payload {
  TensorSpec source;  // what the prefix was given
  Image image;        // the image that the prefix made; a view of the payload
};

// Allocates a payload for an image; *pixels is where its bytes belong.
void AllocatePayload(const TensorSpec& source, const ImageSpec& image, Bytes* payload,
                     MutableByteSpan* pixels);

// kDataLoss: not a payload.
Result<Payload> ReadPayload(ByteSpan payload);

}  // namespace headrace::ops
