#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/vision/image.h"
#include "ops/vision/jpeg/jpeg_decoder.h"

namespace headrace::ops {

struct PngChunks;

// Decodes PNG files to the bits of PIL's Image.open(file).convert("RGB"): every colour type and bit
// depth, alpha dropped, 16-bit gray cut off at 255, interlaced or not.
//
// As in JpegDecoder, a file is decoded only when PIL is known to accept it with the same pixels:
//   kDataLoss     truncated or damaged
//   kUnsupported  PIL has to decide (animations, chunks that PIL parses, ...)
// As in PIL, checksums of the chunks of pixels don't count, and the one of the pixels themselves
// does.
//
// Not thread-safe; one per executor thread. Safe on hostile input.
class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  // Decodes `window` (the whole image when absent) into `memory`, with `out` as in
  // JpegDecoder::DecodeRgb. All of the file is read and checked, whatever the window is; pixels to
  // the right of it and below it are not made. kInvalidArgument: the window is empty or not inside
  // the image.
  Status DecodeRgb(ByteSpan file, const std::optional<Window>& window, PixelFormat format,
                   ScratchBuffer& memory, Image* out);
  // Decodes a file of one channel as PIL's Image.open(file) has it: the gray of mode L, or the
  // indices of mode P. As DecodeRgb, one byte a pixel. kUnsupported: a file of another mode.
  Status DecodeIndices(ByteSpan file, const std::optional<Window>& window, ScratchBuffer& memory,
                       Image* out);

 private:
  struct Inflater;

  // Pixels of one byte are indices; of 3 and 4, RGB.
  Status Decode(const PngChunks& png, const std::optional<Window>& window, std::size_t pixel_bytes,
                ScratchBuffer& memory, Image* out);
  Status Inflate(const PngChunks& png);
  // Make the image's first `rows` rows of `columns` pixels, of `pixel_bytes` each.
  void DecodeDirectly(const PngChunks& png, std::size_t rows, std::size_t columns,
                      std::size_t pixel_bytes, std::uint8_t* out);
  Status DecodePasses(const PngChunks& png, std::size_t rows, std::size_t columns,
                      std::size_t pixel_bytes, std::uint8_t* out);

  std::unique_ptr<Inflater> inflater_;
  ScratchBuffer stream_;    // the compressed pixels, where they lie in several chunks
  ScratchBuffer filtered_;  // the inflated rows, each after its filter byte
  ScratchBuffer rows_;      // a row of zeros, and two rows without filters
};

}  // namespace headrace::ops
