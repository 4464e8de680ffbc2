#include "ops/vision/image_header.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ops/vision/jpeg/jpeg_markers.h"

namespace headrace::ops {
namespace {

constexpr std::array<unsigned char, 8> kPngSignature = {0x89, 'P',  'N',  'G',
                                                        '\r', '\n', 0x1A, '\n'};
constexpr std::array<unsigned char, 3> kJpegSignature = {0xFF, 0xD8, 0xFF};
// Signature and the whole first chunk: length, "IHDR", 13 bytes, checksum.
constexpr std::size_t kPngHead = 8 + 4 + 4 + 13 + 4;

std::uint32_t U32(ByteSpan bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint32_t>(bytes[at + i]);
  return value;
}

// Says whether the prefix, up to its length, is the start of `signature`.
template <std::size_t N>
bool Matches(ByteSpan prefix, const std::array<unsigned char, N>& signature) {
  return std::memcmp(prefix.data(), signature.data(), std::min(prefix.size(), N)) == 0;
}

bool IsPngDepth(int color, int depth) {
  switch (color) {
    case 0:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 3:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case 2:
    case 4:
    case 6:
      return depth == 8 || depth == 16;
    default:
      return false;
  }
}

Result<ImageHeader> ReadPng(ByteSpan prefix) {
  ImageHeader header;
  header.format = ImageFormat::kPng;
  if (prefix.size() < kPngHead) {
    header.need_bytes = kPngHead;
    return header;
  }
  if (U32(prefix, 8) != 13 || std::memcmp(&prefix[12], "IHDR", 4) != 0) {
    return Unsupported("PNG: does not start with IHDR");
  }
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(&prefix[12]), 17);
  if (U32(prefix, 29) != sum) return DataLoss("PNG: bad checksum of IHDR");
  const std::uint32_t width = U32(prefix, 16);
  const std::uint32_t height = U32(prefix, 20);
  const int color = static_cast<int>(prefix[25]);
  if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX) {
    return DataLoss("PNG: bad size");
  }
  if (!IsPngDepth(color, static_cast<int>(prefix[24]))) return DataLoss("PNG: bad colour type");
  header.width = width;
  header.height = height;
  header.channels = color == 2 ? 3 : color == 4 ? 2 : color == 6 ? 4 : 1;
  return header;
}

Result<ImageHeader> ReadJpeg(ByteSpan prefix) {
  HR_TRY(const JpegMarkers markers, WalkJpegMarkers(prefix));
  ImageHeader header;
  header.format = ImageFormat::kJpeg;
  header.need_bytes = markers.need_bytes;
  header.width = markers.width;
  header.height = markers.height;
  header.channels = markers.components;
  header.progressive = markers.progressive;
  return header;
}

}  // namespace

Result<ImageHeader> ReadImageHeader(ByteSpan prefix) {
  if (prefix.size() < kPngSignature.size()) {
    const bool known =
        prefix.empty() || Matches(prefix, kPngSignature) || Matches(prefix, kJpegSignature);
    if (!known) return Unsupported("image: neither JPEG nor PNG");
    ImageHeader header;
    header.need_bytes = kPngSignature.size();
    return header;
  }
  const bool is_png = Matches(prefix, kPngSignature);
  if (!is_png && !Matches(prefix, kJpegSignature)) {
    return Unsupported("image: neither JPEG nor PNG");
  }
  HR_TRY(const ImageHeader header, is_png ? ReadPng(prefix) : ReadJpeg(prefix));
  if (header.need_bytes == 0 && header.width * header.height > kMaxImagePixels) {
    return Unsupported("image: above PIL's size limit");
  }
  return header;
}

}  // namespace headrace::ops
