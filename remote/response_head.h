#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "remote/checksum.h"

namespace headrace::remote {

// What the headers of an answer say. A value.
struct ResponseHead {
  int status = 0;
  std::optional<std::uint64_t> length;  // of the body that follows
  // Of a part (206): where it begins, and the size of the whole. Of 416 the size alone.
  std::optional<std::uint64_t> first, whole;
  std::string etag;     // a strong one, with its quotes; else empty
  std::string version;  // of S3; empty: none
  bool takes_ranges = true;
  // The body's end is told, if not by its length: one that is cut off is noticed.
  bool tells_its_end = false;
  std::optional<Duration> retry_after;
  std::optional<std::int64_t> date_millis;
  std::string location;
  std::string region;                // of the bucket
  std::optional<Checksum> checksum;  // of the whole
  // GCS keeps it packed and sends it unpacked: its checksum is that of other bytes.
  bool unpacked = false;

  // Takes a line of a head: a status line, which begins anew, or a header. Unknown ones and damaged
  // values are passed over.
  void Read(std::string_view line);
};

// The text of S3's <Code> in an error's body, letters alone; empty: there is none.
[[nodiscard]] std::string ErrorCode(std::string_view body);
// That of its <Region>, which is that of the bucket; empty: there is none, or it is no region.
[[nodiscard]] std::string ErrorRegion(std::string_view body);

}  // namespace headrace::remote
