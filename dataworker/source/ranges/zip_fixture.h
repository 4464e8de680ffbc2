#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

#include "schemas/wire/range_table.h"

// For tests: a member of a zip, from its local header on.
namespace headrace::dataworker {

struct ZippedSample {
  std::string bytes;
  wire::ZipMember member;
};

inline std::string Deflated(const std::string& text) {
  z_stream stream{};
  ::deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

// `extra`: bytes between the header and the data.
inline ZippedSample Zipped(const std::string& text, bool deflated, std::size_t extra = 5) {
  const std::string packed = deflated ? Deflated(text) : text;
  std::string header(30, '\0');
  header.replace(0, 4, "PK\x03\x04");
  header[8] = deflated ? 8 : 0;
  header[26] = 3;
  header[28] = static_cast<char>(extra % 256);
  header[29] = static_cast<char>(extra / 256);
  const auto crc = static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
  return {
      header + "a.j" + std::string(extra, 'e') + packed,
      {static_cast<std::uint32_t>(packed.size()), static_cast<std::uint32_t>(text.size()), crc}};
}

}  // namespace headrace::dataworker
