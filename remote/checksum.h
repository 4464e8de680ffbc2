#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"

namespace headrace::remote {

// Checksums that stores give with objects: S3's "x-amz-checksum-...", GCS's "x-goog-hash". An etag is none: it may be the
// MD5 of the bytes, and no answer says whether it is.
struct Checksum {
  enum class Kind : std::uint8_t { kCrc32, kCrc32c, kCrc64Nvme, kSha256 };
  Kind kind = Kind::kCrc32;
  std::string value;  // big-endian

  // Of a header: its name in lower case and its value. nullopt: no checksum, one that we don't
  // compute, or the checksum of checksums of parts.
  static std::optional<Checksum> OfHeader(std::string_view name, std::string_view value);
  [[nodiscard]] bool Fits(ByteSpan bytes) const;
};

}  // namespace headrace::remote
