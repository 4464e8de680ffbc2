#pragma once

#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/vision/image.h"
#include "ops/vision/jpeg/jpeg_decoder.h"

namespace headrace::ops {

// Decodes PNG files to the bits of PIL's Image.open(file).convert("RGB"): gray, palette and RGB in
// every bit depth that PIL maps to 8 bits, alpha dropped, interlaced or not.
//
// As in JpegDecoder, a file is decoded only when PIL is known to accept it with the same pixels:
//   kDataLoss     truncated or damaged
//   kUnsupported  PIL has to decide (16-bit gray, animations, chunks that PIL parses, ...)
//
// Not thread-safe; one per executor thread. Safe on hostile input.
class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  // Decodes the whole image into `memory`, with `out` as in JpegDecoder::DecodeRgb.
  Status DecodeRgb(ByteSpan file, PixelFormat format, ScratchBuffer& memory, Image* out);

 private:
  ScratchBuffer rows_;
};

}  // namespace headrace::ops
