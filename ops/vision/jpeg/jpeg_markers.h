#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace::ops {

// Contents of the marker segments of a JPEG file up to its first scan.
struct JpegMarkers {
  std::size_t need_bytes = 0;  // above 0: the prefix is too short, all else is undefined
  std::int64_t width = 0;      // pixels
  std::int64_t height = 0;     // pixels
  int components = 0;
  bool progressive = false;
  bool has_exif = false;
  int orientation = 0;          // for libraries that turn pictures: see ExifOrientation
  std::uint32_t sampling = 0;   // a byte for each component, horizontal factor in the upper half
  std::size_t scan_offset = 0;  // first byte of entropy-coded data
};

// Reads a picture's orientation from Exif data (from its TIFF header on): 1 to 8, 0 for none, or
// kUnclear if readers may differ.
inline constexpr int kUnclear = -1;
int ExifOrientation(ByteSpan tiff);

// Walks the segments of a file that starts with SOI, as PIL's JpegImageFile._open does. Accepts
// only what both PIL and libjpeg accept without a warning. Quantisation and Huffman tables are left
// to libjpeg. kDataLoss: PIL does not open the file. kUnsupported: PIL may.
Result<JpegMarkers> WalkJpegMarkers(ByteSpan prefix);

// The first marker of entropy-coded data that ends a scan. With kEndOfImage, a decoder that reads
// on can neither run out of data nor meet another segment.
enum class ScanEnd : std::uint8_t { kEndOfImage, kOtherMarker, kMissing };
ScanEnd FindScanEnd(ByteSpan entropy_coded);

}  // namespace headrace::ops
