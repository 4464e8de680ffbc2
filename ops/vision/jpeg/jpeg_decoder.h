#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/vision/image.h"

namespace headrace::ops {

struct JpegHeader {
  std::int64_t width = 0;   // pixels
  std::int64_t height = 0;  // pixels
  int components = 0;       // 1 gray, 3 YCbCr or RGB, 4 CMYK or YCCK
  bool progressive = false;
};

// Properties of a JPEG file on which another library's pixels may depend.
struct JpegForm {
  JpegHeader header;
  std::uint32_t sampling = 0;  // a byte for each component, horizontal factor in the upper half
  int orientation = 0;         // Exif's: 1 to 8, 0 where there is none, kUnclear
};

// The bytes of a pixel, in order, in pictures of libraries other than PIL.
enum class Channels : std::uint8_t { kRgb, kBgr, kGray };

// Bytes of a decoded pixel.
enum class PixelFormat : std::uint8_t {
  kRgb = 3,   // packed
  kRgbx = 4,  // the fourth byte is undefined; what the resize kernels like best
};

// Decodes JPEG files to the bits of PIL's Image.open(file).convert("RGB"): accurate integer DCT,
// fancy upsampling, EXIF orientation ignored, CMYK converted by PIL's formula.
//
// Decodes a file only if PIL is known to accept it and to produce the same pixels. Otherwise:
//   kDataLoss     the data ends too early or libjpeg calls it damaged
//   kUnsupported  PIL has to decide: a coding, a marker or a kind of damage without native form, or
//                 an image above PIL's size limit
// A caller that hands both to PIL always sees PIL's own result.
//
// Not thread-safe: one decoder for each executor thread, reused for all files. Safe on hostile
// input.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Checks everything up to the first scan, as PIL's open does.
  Result<JpegHeader> ReadHeader(ByteSpan file);

  // Decodes `window` (the whole image when absent) into `memory`. out->data is the window's first
  // pixel, out->spec its size with 3 channels, and out->pixel_stride that of `format`. Decodes only
  // what the window needs. kInvalidArgument: the window is empty or not inside the image.
  Status DecodeRgb(ByteSpan file, const std::optional<Window>& window, PixelFormat format,
                   ScratchBuffer& memory, Image* out);

  Result<JpegForm> ReadForm(ByteSpan file);

  // Decodes the whole image into `out`, packed, with the same settings of libjpeg, which libraries
  // other than PIL also share. The gray of a coloured file is its luma. kUnsupported: also colours
  // that are not stored as YCbCr, which each library converts in its own way. kInvalidArgument:
  // `out` has another size.
  Status DecodeWhole(ByteSpan file, Channels channels, MutableByteSpan out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::ops
