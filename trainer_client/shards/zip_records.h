#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/result.h"

// The records of a zip's directory. Pure. Source: PKWARE, .ZIP File Format Specification 6.3; where it
// leaves a choice, it is Python's zipfile's.
namespace headrace::client {

// The end of a zip: where its directory lies.
struct ZipEnd {
  std::uint64_t first = 0, size = 0;  // of the directory
  std::uint64_t entries = 0;
  std::uint64_t shift = 0;  // what was put in front of the zip: offsets count without it
};
// So many last bytes of a zip have its end: with the longest comment, and zip64's two records.
inline constexpr std::uint64_t kZipTail = 22 + 65535 + 20 + 56;
// `tail`: the last bytes of a file of `size` bytes, kZipTail of them if it has so many. kDataLoss: no
// zip, or torn. kUnsupported: a part of a zip in several files.
[[nodiscard]] Result<ZipEnd> ReadZipEnd(ByteSpan tail, std::uint64_t size);

// One entry of the directory.
struct ZipHeader {
  static constexpr std::size_t kBytes = 46;
  std::uint64_t bytes = 0;  // of the entry, with its name and all that follows
  std::string name;         // UTF-8, but for a name that says so and is none
  unsigned flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed_size = 0, size = 0;
  std::uint64_t first = 0;  // of its local header, without ZipEnd::shift

  [[nodiscard]] bool encrypted() const { return (flags & 1) != 0; }
};
// How many bytes an entry has that begins here. REQUIRES: kBytes bytes.
[[nodiscard]] std::uint64_t ZipHeaderBytes(ByteSpan rest);
// kDataLoss: it is none. REQUIRES: ZipHeaderBytes(rest) bytes.
[[nodiscard]] Result<ZipHeader> ReadZipHeader(ByteSpan rest);

// A name for people: without what a terminal would take for a command.
[[nodiscard]] std::string Shown(std::string_view name);

}  // namespace headrace::client
