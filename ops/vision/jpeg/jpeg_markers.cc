#include "ops/vision/jpeg/jpeg_markers.h"

#include <cstring>
#include <string_view>

namespace headrace::ops {
namespace {

enum Marker : int {
  kSof0 = 0xC0,
  kSof2 = 0xC2,
  kDht = 0xC4,
  kSof15 = 0xCF,
  kRst0 = 0xD0,
  kRst7 = 0xD7,
  kEoi = 0xD9,
  kSos = 0xDA,
  kDqt = 0xDB,
  kDri = 0xDD,
  kApp0 = 0xE0,
  kApp1 = 0xE1,
  kApp2 = 0xE2,
  kApp13 = 0xED,
  kApp14 = 0xEE,
  kApp15 = 0xEF,
  kCom = 0xFE,
};

int U8(ByteSpan bytes, std::size_t at) { return static_cast<int>(bytes[at]); }
int U16(ByteSpan bytes, std::size_t at) { return U8(bytes, at) << 8 | U8(bytes, at + 1); }
std::size_t U32(ByteSpan bytes, std::size_t at) {
  return static_cast<std::size_t>(U16(bytes, at)) << 16 |
         static_cast<std::size_t>(U16(bytes, at + 2));
}

bool StartsWith(ByteSpan bytes, std::string_view text) { return AsText(bytes).starts_with(text); }

// PIL walks Photoshop's resource blocks. An IndexError escapes if a name is missing.
bool PilReadsPhotoshop(ByteSpan segment) {
  std::size_t at = 14;  // after "Photoshop 3.0\0"
  while (at + 4 <= segment.size() && StartsWith(segment.subspan(at), "8BIM")) {
    at += 4;
    if (at + 2 > segment.size()) return true;  // struct.error, which PIL catches
    const int code = U16(segment, at);
    at += 2;
    if (at >= segment.size()) return false;
    at += 1 + static_cast<std::size_t>(U8(segment, at));
    at += at & 1;
    if (at + 4 > segment.size()) return true;
    const std::size_t size = U32(segment, at);
    at += 4;
    constexpr int kResolutionInfo = 0x03ED;
    if (code == kResolutionInfo && (size < 16 || at + 16 > segment.size())) return true;
    at += size;
    at += at & 1;
  }
  return true;
}

// The first directory of TIFF data, as in Exif.
class TiffDirectory {
 public:
  explicit TiffDirectory(ByteSpan tiff) : tiff_(tiff), little_(U8(tiff, 0) == 'I') {
    const auto directory =
        little_ ? static_cast<std::size_t>(Get16(4)) | static_cast<std::size_t>(Get16(6)) << 16
                : U32(tiff, 4);
    if (directory + 2 > tiff.size()) return;
    said_ = Get16(directory);
    first_ = directory + 2;
  }
  // Calls f(offset of the entry) until it returns false. False: not all entries could be visited.
  template <typename F>
  bool ForEach(F f) const {
    std::size_t at = first_;
    for (int i = 0; i < said_; ++i, at += kEntry) {
      if (at + kEntry > tiff_.size() || !f(at)) return false;
    }
    return first_ > 0;
  }
  [[nodiscard]] int Get16(std::size_t at) const {
    return little_ ? U8(tiff_, at) | U8(tiff_, at + 1) << 8 : U16(tiff_, at);
  }

 private:
  static constexpr std::size_t kEntry = 12;
  const ByteSpan tiff_;
  const bool little_;
  int said_ = 0;
  std::size_t first_ = 0;
};
constexpr std::size_t kTiffHead = 8;

// PIL computes with the resolution in the Exif data. An IndexError escapes if it is text. PIL
// catches any other damage there, so data that can't be followed is fine.
bool PilReadsExif(ByteSpan tiff) {
  constexpr int kXResolution = 0x011A, kRational = 5;
  if (tiff.size() < kTiffHead) return true;
  const TiffDirectory directory(tiff);
  bool reads = true;
  directory.ForEach([&](std::size_t at) {
    reads = directory.Get16(at) != kXResolution || directory.Get16(at + 2) == kRational;
    return reads;
  });
  return reads;
}

// Application data that PIL reads.
Status CheckApplicationData(int marker, ByteSpan segment, JpegMarkers* out) {
  const bool is_short =
      (marker == kApp0 && StartsWith(segment, "JFIF") && segment.size() < 7) ||
      (marker == kApp14 && StartsWith(segment, "Adobe") && segment.size() < 7) ||
      (marker == kApp2 && StartsWith(segment, std::string_view("ICC_PROFILE\0", 12)) &&
       segment.size() < 14);
  if (is_short) return DataLoss("JPEG: an application segment is too short");
  const std::string_view exif("Exif\0\0", 6);
  if (marker == kApp1 && StartsWith(segment, exif)) {
    // PIL joins several segments before it reads them.
    if (out->has_exif) return Unsupported("JPEG: Exif data in several segments");
    out->has_exif = true;
    if (!PilReadsExif(segment.subspan(exif.size()))) {
      return Unsupported("JPEG: Exif resolution is not a fraction");
    }
    const int orientation = ExifOrientation(segment.subspan(exif.size()));
    if (out->orientation != kUnclear) out->orientation = orientation;
  } else if (marker == kApp1 && !StartsWith(segment, "http://ns.adobe.com/")) {
    out->orientation = kUnclear;
  }
  if (marker == kApp13 && StartsWith(segment, std::string_view("Photoshop 3.0\0", 14)) &&
      !PilReadsPhotoshop(segment)) {
    return DataLoss("JPEG: damaged Photoshop resources");
  }
  return Status::Ok();
}

Status ReadFrame(int marker, ByteSpan segment, JpegMarkers* out) {
  if (out->components != 0) return Unsupported("JPEG: more than one frame");
  if (marker > kSof2) return Unsupported("JPEG: arithmetic, lossless or hierarchical coding");
  if (segment.size() < 6) return DataLoss("JPEG: short frame header");
  const int components = U8(segment, 5);
  if (U8(segment, 0) != 8) return DataLoss("JPEG: not 8 bits a sample");
  if (components != 1 && components != 3 && components != 4) {
    return DataLoss("JPEG: " + std::to_string(components) + " components");
  }
  if (segment.size() != 6 + 3 * static_cast<std::size_t>(components)) {
    return DataLoss("JPEG: bad length of the frame header");
  }
  out->height = U16(segment, 1);
  out->width = U16(segment, 3);
  if (out->width == 0 || out->height == 0) return DataLoss("JPEG: empty image");
  out->components = components;
  for (int c = 0; c < components; ++c) {
    out->sampling = out->sampling << 8 | static_cast<std::uint32_t>(U8(segment, 7 + 3 * c));
  }
  out->progressive = marker == kSof2;
  return Status::Ok();
}

Status ReadSegment(int marker, ByteSpan segment, JpegMarkers* out) {
  if (marker == kDht || marker == kDqt || marker == kDri || marker == kCom || marker == kSos) {
    return Status::Ok();
  }
  if (marker >= kSof0 && marker <= kSof15) return ReadFrame(marker, segment, out);
  return CheckApplicationData(marker, segment, out);
}

// Says whether both PIL and libjpeg take the marker for the start of a segment.
bool HasSegment(int marker) {
  return (marker >= kSof0 && marker <= kSof15 && marker != 0xC8 && marker != 0xCC) ||
         (marker >= kApp0 && marker <= kApp15) || marker == kDqt || marker == kDri ||
         marker == kCom || marker == kSos;
}

}  // namespace

int ExifOrientation(ByteSpan tiff) {
  constexpr int kOrientation = 0x0112, kShort = 3;
  if (tiff.size() < kTiffHead) return kUnclear;
  const std::string_view order = AsText(tiff.first(2));
  const TiffDirectory directory(tiff);
  if ((order != "II" && order != "MM") || directory.Get16(2) != 42) return kUnclear;
  int found = 0;
  const bool whole = directory.ForEach([&](std::size_t at) {
    if (directory.Get16(at) != kOrientation) return true;
    const int value = directory.Get16(at + 8);
    const bool clear = found == 0 && directory.Get16(at + 2) == kShort && value >= 1 && value <= 8;
    found = clear ? value : kUnclear;
    return clear;
  });
  return whole ? found : kUnclear;
}

Result<JpegMarkers> WalkJpegMarkers(ByteSpan prefix) {
  JpegMarkers out;
  const auto need = [&out](std::size_t bytes) {
    out.need_bytes = bytes;
    return out;
  };
  std::size_t at = 2;
  while (true) {
    if (at + 2 > prefix.size()) return need(at + 2);
    if (U8(prefix, at) != 0xFF) return Unsupported("JPEG: stray bytes between segments");
    const int marker = U8(prefix, at + 1);
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (!HasSegment(marker)) {
      // PIL knows no markers from 01 to BF; libjpeg stops at the others, or warns about them.
      const bool unknown = marker > 0 && marker < kSof0;
      return Status(unknown ? Code::kDataLoss : Code::kUnsupported,
                    "JPEG: marker " + std::to_string(marker) + " before the first scan");
    }
    if (at + 4 > prefix.size()) return need(at + 4);
    const auto length = static_cast<std::size_t>(U16(prefix, at + 2));
    if (length < 2) return Unsupported("JPEG: segment without a length");
    const std::size_t end = at + 2 + length;
    if (end > prefix.size()) return need(end);
    HR_RETURN_IF_ERROR(ReadSegment(marker, prefix.subspan(at + 4, length - 2), &out));
    at = end;
    if (marker == kSos) break;
  }
  if (out.components == 0) return DataLoss("JPEG: scan without a frame");
  out.scan_offset = at;
  return out;
}

ScanEnd FindScanEnd(ByteSpan entropy_coded) {
  const std::byte* at = entropy_coded.data();
  const std::byte* const end = at + entropy_coded.size();
  while (at < end) {
    at = static_cast<const std::byte*>(std::memchr(at, 0xFF, static_cast<std::size_t>(end - at)));
    if (at == nullptr || ++at == end) return ScanEnd::kMissing;
    const int marker = static_cast<int>(*at);
    if (marker == kEoi) return ScanEnd::kEndOfImage;
    if (marker == 0xFF) continue;  // padding: this byte may start the marker
    if (marker != 0 && (marker < kRst0 || marker > kRst7)) return ScanEnd::kOtherMarker;
    ++at;
  }
  return ScanEnd::kMissing;
}

}  // namespace headrace::ops
