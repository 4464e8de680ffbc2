#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "base/result.h"

namespace headrace::ops {

// What the marker segments of a JPEG file up to its first scan say.
struct JpegMarkers {
  std::size_t need_bytes = 0;  // above 0: the prefix is too short, all else is undefined
  std::int64_t width = 0;      // pixels
  std::int64_t height = 0;     // pixels
  int components = 0;
  bool progressive = false;
  bool has_exif = false;
  int orientation = 0;          // as libraries that turn pictures see it: see ExifOrientation
  std::uint32_t sampling = 0;   // of each component a byte, horizontal factor in the upper half
  std::size_t scan_offset = 0;  // first byte of entropy-coded data
};

// What Exif data (from its TIFF header on) says about a picture's orientation: 1 to 8, 0 nothing,
// or kUnclear: readers may differ.
inline constexpr int kUnclear = -1;
int ExifOrientation(ByteSpan tiff);

// Walks the segments of a file that starts with SOI, as PIL's JpegImageFile._open does, and accepts
// only what both it and libjpeg accept without a warning. kDataLoss: PIL does not open the file.
// kUnsupported: PIL may. Quantisation and Huffman tables are left to libjpeg.
Result<JpegMarkers> WalkJpegMarkers(ByteSpan prefix);

// The first marker of entropy-coded data that ends a scan. With kEndOfImage a decoder that reads on
// can neither run out of data nor meet another segment.
enum class ScanEnd : std::uint8_t { kEndOfImage, kOtherMarker, kMissing };
ScanEnd FindScanEnd(ByteSpan entropy_coded);

}  // namespace headrace::ops
