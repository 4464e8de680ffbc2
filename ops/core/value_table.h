#pragma once

#include "base/buffer.h"
#include "ops/core/chain.h"

namespace headrace::ops {

// What nodes [first, end) of a chain make of each uint8 value of each channel: channels x 256
// elements of the chain's output. REQUIRES: these nodes only map or move what they get
// (OpSchema::Map), and the output is an image.
[[nodiscard]] Bytes ValueTable(const Chain& chain, int first);

// The channels of an image. REQUIRES: the layout is kHwc or kChw.
[[nodiscard]] int ChannelsOf(const TensorSpec& image);

}  // namespace headrace::ops
