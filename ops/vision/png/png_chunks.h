#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace::ops {

// The chunks of a PNG file that affect its pixels.
struct PngChunks {
  std::int64_t width = 0;   // pixels
  std::int64_t height = 0;  // pixels
  int depth = 0;            // bits a channel
  int color = 0;            // PNG colour type
  bool interlaced = false;
  ByteSpan palette;              // 3 bytes a colour; empty if the file has none
  std::vector<ByteSpan> pixels;  // the contents of the IDAT chunks, at least one
};

// Walks the chunks of a file. Accepts only files whose other chunks neither stop PIL nor change its
// pixels. kDataLoss: damaged before the pixels, or truncated.
Result<PngChunks> WalkPngChunks(ByteSpan file);

}  // namespace headrace::ops
