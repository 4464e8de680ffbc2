#pragma once

#include "base/buffer.h"
#include "base/result.h"
#include "ops/core/op.h"

// What the cache keeps of a sample behind the pure prefix: a header, the packed u8 HWC pixels, and
// ScratchBuffer::kSlack bytes so that kernels read the pixels where they lie.
namespace headrace::ops {

struct Payload {
  ImageSpec source;  // the image that the prefix was given
  Image image;       // the image behind it; a view of the payload
};

// Room for an image; *pixels is where its bytes belong.
void AllocatePayload(const ImageSpec& source, const ImageSpec& image, Bytes* payload,
                     MutableByteSpan* pixels);

// kDataLoss: not a payload.
Result<Payload> ReadPayload(ByteSpan payload);

}  // namespace headrace::ops
