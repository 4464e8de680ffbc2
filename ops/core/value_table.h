#pragma once

#include "base/buffer.h"
#include "ops/core/chain.h"

namespace headrace::ops {

// What nodes [first, last) of a chain make of each uint8 value of each channel: channels x 256
// elements of `out`, the image after these nodes. REQUIRES: they only map or move what they get
// (OpSchema::Map).
[[nodiscard]] Bytes ValueTable(const Chain& chain, int first, int last, const TensorSpec& out);
// The same for the nodes from `first` to the end of the chain.
[[nodiscard]] Bytes ValueTable(const Chain& chain, int first);

// The channels of an image. REQUIRES: the layout is kHwc or kChw.
[[nodiscard]] int ChannelsOf(const TensorSpec& image);

}  // namespace headrace::ops
