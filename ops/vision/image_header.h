#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace::ops {

enum class ImageFormat : std::uint8_t { kJpeg, kPng };

// PIL warns above this many pixels (Image.MAX_IMAGE_PIXELS), and may be told to raise.
inline constexpr std::int64_t kMaxImagePixels = 89'478'485;

// Contents of an encoded file's header.
struct ImageHeader {
  // Above 0: the given prefix ends too early, and all other fields are undefined. Call again with
  // at least this many bytes of the file. A file that has no more bytes is truncated.
  std::size_t need_bytes = 0;
  ImageFormat format = ImageFormat::kJpeg;
  std::int64_t width = 0;   // pixels, as PIL's Image.open(file).size
  std::int64_t height = 0;  // pixels
  int channels = 0;         // as stored: 1 gray or palette, 2 gray and alpha, 3, 4
  bool progressive = false;
};

// Finds format and size from the first bytes of a file, without decoding. kUnsupported: a format or
// variant that is left to PIL. kDataLoss: not an image that PIL would open. A first prefix of 4 KiB
// is enough for most files. Embedded thumbnails and profiles need more.
Result<ImageHeader> ReadImageHeader(ByteSpan prefix);

}  // namespace headrace::ops
