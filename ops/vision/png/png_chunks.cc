#include "ops/vision/png/png_chunks.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "ops/vision/image_header.h"

namespace headrace::ops {
namespace {

// PngImagePlugin.MAX_TEXT_CHUNK: PIL refuses text and profiles that inflate to more.
constexpr std::size_t kMaxInflated = std::size_t{1} << 20;
// A quarter of PngImagePlugin.MAX_TEXT_MEMORY, to be safe against PIL's way of counting.
constexpr std::size_t kMaxText = std::size_t{16} << 20;

std::uint32_t U32(ByteSpan bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint32_t>(bytes[at + i]);
  return value;
}

Bytef* ZlibBytes(ByteSpan bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}

// Says whether `data`, if it inflates at all, stays within PIL's limit.
bool InflatesBelowLimit(ByteSpan data) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return false;
  stream.next_in = ZlibBytes(data);
  stream.avail_in = static_cast<uInt>(data.size());
  std::array<Bytef, 16384> sink;
  int outcome = Z_OK;
  while (outcome == Z_OK && stream.total_out < kMaxInflated) {
    stream.next_out = sink.data();
    stream.avail_out = static_cast<uInt>(sink.size());
    outcome = inflate(&stream, Z_NO_FLUSH);
  }
  const bool below = stream.total_out < kMaxInflated;
  inflateEnd(&stream);
  return below;
}

std::string_view Keyword(ByteSpan data) {
  const std::string_view text = AsText(data);
  return text.substr(0, text.find('\0'));
}

// PIL keeps texts and its own notes about the file in one dictionary. These are the names of its
// own notes.
bool IsReservedKeyword(std::string_view keyword) {
  constexpr std::array<std::string_view, 8> kReserved = {"bbox",     "blend",       "default_image",
                                                         "disposal", "duration",    "interlace",
                                                         "loop",     "transparency"};
  return std::find(kReserved.begin(), kReserved.end(), keyword) != kReserved.end();
}

bool IsTextChunk(std::string_view name) {
  return name == "tEXt" || name == "zTXt" || name == "iTXt";
}

bool IsTextHarmless(std::string_view name, ByteSpan data) {
  const std::string_view keyword = Keyword(data);
  if (IsReservedKeyword(keyword)) return false;
  if (name == "tEXt") return true;
  // The keyword is followed by: compression method (zTXt), or flag, method and two strings (iTXt).
  const ByteSpan rest = data.subspan(std::min(data.size(), keyword.size() + 1));
  if (name == "zTXt") {
    return rest.empty() || (rest[0] == std::byte{0} && InflatesBelowLimit(rest.subspan(1)));
  }
  if (rest.size() < 2 || rest[0] == std::byte{0}) return true;
  std::size_t at = 2;
  for (int strings = 0; strings < 2; ++strings) {
    at += Keyword(rest.subspan(at)).size() + 1;
    if (at > rest.size()) return true;  // PIL skips it
  }
  return InflatesBelowLimit(rest.subspan(at));
}

bool IsProfileHarmless(ByteSpan data) {
  const std::size_t name = Keyword(data).size();
  return name + 2 <= data.size() && data[name + 1] == std::byte{0} &&
         InflatesBelowLimit(data.subspan(name + 2));
}

struct KnownLength {
  std::string_view name;
  std::size_t length;
};
constexpr std::array<KnownLength, 4> kKnownLengths = {
    {{"gAMA", 4}, {"cHRM", 32}, {"sRGB", 1}, {"pHYs", 9}}};

bool IsTransparencyHarmless(ByteSpan data, int color) {
  switch (color) {
    case 0:
      return data.size() == 2;
    case 2:
      return data.size() == 6;
    case 3:
      return !data.empty() && data.size() <= 256;
    default:
      return false;
  }
}

// Says whether an ancillary chunk leaves PIL's pixels unchanged.
bool IsHarmless(std::string_view name, ByteSpan data, int color) {
  if (name == "acTL" || name == "fcTL" || name == "fdAT") return false;  // an animation
  if (name == "tRNS") return IsTransparencyHarmless(data, color);
  if (name == "iCCP") return IsProfileHarmless(data);
  if (IsTextChunk(name)) return IsTextHarmless(name, data);
  for (const KnownLength& known : kKnownLengths) {
    if (name == known.name) return data.size() == known.length;
  }
  return true;
}

// Gray images have no palette, and others may suggest one.
bool IsPalette(ByteSpan data, int color) {
  return color != 0 && color != 4 && !data.empty() && data.size() % 3 == 0 && data.size() <= 768;
}

bool IsChunkName(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// The critical chunks read so far. Only the order of the specification is accepted.
enum class Stage : std::uint8_t { kHeader, kPalette, kPixels, kAfterPixels, kEnd };

// Moves to the stage after a critical chunk; false if the chunk must not come here.
bool Advance(std::string_view name, Stage* stage) {
  if (name == "PLTE" && *stage == Stage::kHeader) {
    *stage = Stage::kPalette;
  } else if (name == "IDAT" && *stage <= Stage::kPixels) {
    *stage = Stage::kPixels;
  } else if (name == "IEND" && (*stage == Stage::kPixels || *stage == Stage::kAfterPixels)) {
    *stage = Stage::kEnd;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<PngChunks> WalkPngChunks(ByteSpan file) {
  HR_TRY(const ImageHeader header, ReadImageHeader(file));
  if (header.need_bytes > 0) return DataLoss("PNG: truncated");
  if (header.format != ImageFormat::kPng) return InvalidArgument("not a PNG file");
  constexpr std::size_t kSignature = 8, kFraming = 12, kIhdr = 13;
  PngChunks out;
  out.width = header.width;
  out.height = header.height;
  const ByteSpan ihdr = file.subspan(kSignature + 8, kIhdr);
  out.depth = static_cast<int>(ihdr[8]);
  out.color = static_cast<int>(ihdr[9]);
  if (ihdr[10] != std::byte{0} || ihdr[11] != std::byte{0} || ihdr[12] > std::byte{1}) {
    return Unsupported("PNG: unknown coding");
  }
  out.interlaced = ihdr[12] == std::byte{1};
  std::size_t at = kSignature + kIhdr + kFraming;
  std::size_t text = 0;
  Stage stage = Stage::kHeader;
  while (stage != Stage::kEnd) {
    if (file.size() - at < kFraming) return DataLoss("PNG: truncated");
    const std::size_t length = U32(file, at);
    if (length > file.size() - at - kFraming) return DataLoss("PNG: truncated");
    const std::string_view name = AsText(file.subspan(at + 4, 4));
    const ByteSpan data = file.subspan(at + 8, length);
    if (!IsChunkName(name)) return DataLoss("PNG: broken chunk name");
    // PIL, too, does not look at the checksums of the pixels' chunks.
    if (name != "IDAT" && U32(file, at + 8 + length) != crc32(0, ZlibBytes(file.subspan(at + 4)),
                                                              static_cast<uInt>(length + 4))) {
      return DataLoss("PNG: bad checksum of " + std::string(name));
    }
    const bool ancillary = name[0] >= 'a';
    if (ancillary) {
      if (IsTextChunk(name)) text += length;
      if (text > kMaxText || !IsHarmless(name, data, out.color)) {
        return Unsupported("PNG: chunk " + std::string(name));
      }
      if (stage == Stage::kPixels) stage = Stage::kAfterPixels;
    } else {
      if (!Advance(name, &stage)) return Unsupported("PNG: misplaced chunk " + std::string(name));
      if (name == "PLTE") {
        if (!IsPalette(data, out.color)) return Unsupported("PNG: palette");
        out.palette = data;
      }
      if (name == "IDAT") out.pixels.push_back(data);
    }
    at += length + kFraming;
  }
  if (out.color == 3 && out.palette.empty()) return Unsupported("PNG: no palette");
  return out;
}

}  // namespace headrace::ops
