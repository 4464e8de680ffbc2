#include "dataworker/source/ranges/zip_member.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

namespace headrace::dataworker {
namespace {

// Source: PKWARE, .ZIP File Format Specification 6.3, 4.3.7.
constexpr std::size_t kLocalHeader = 30;
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr unsigned kStored = 0, kDeflated = 8;
// Source: RFC 1951: 258 bytes in two bits.
constexpr std::uint64_t kMostInflation = 1032;

unsigned Word(ByteSpan bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]) | std::to_integer<unsigned>(bytes[at + 1]) << 8;
}

struct Packed {
  ByteSpan bytes;  // fewer than the member has, if the range is cut
  bool deflated = false;
};

// Empty bytes: the range ends in the header.
Result<Packed> PackedIn(ByteSpan range, const wire::ZipMember& member) {
  if (member.size > Source::kMaxEncodedBytes) return Unsupported("larger than 1 GiB unpacked");
  if (member.size > kMostInflation * (std::uint64_t{member.packed_size} + 1)) {
    return DataLoss("a member of a zip that cannot be as large as it says");
  }
  if (range.size() < kLocalHeader) return Packed{};
  if ((Word(range, 2) << 16 | Word(range, 0)) != kLocalSignature) {
    return DataLoss("no member of a zip where its directory has one");
  }
  if ((Word(range, 6) & 1) != 0) return Unsupported("an encrypted member of a zip");
  const unsigned method = Word(range, 8);
  if (method != kStored && method != kDeflated) {
    return Unsupported("a member of a zip that is packed by method " + std::to_string(method));
  }
  if (method == kStored && member.size != member.packed_size) {
    return DataLoss("a member of a zip whose sizes contradict each other");
  }
  const std::size_t begin = kLocalHeader + Word(range, 26) + Word(range, 28);
  Packed packed{.bytes = {}, .deflated = method == kDeflated};
  if (begin < range.size()) {
    packed.bytes =
        range.subspan(begin, std::min<std::size_t>(member.packed_size, range.size() - begin));
  }
  return packed;
}

}  // namespace

Result<ByteSpan> UnpackMember(ByteSpan range, const wire::ZipMember& member, ScratchBuffer& out) {
  HR_TRY(const Packed packed, PackedIn(range, member));
  if (packed.bytes.size() != member.packed_size) {
    return DataLoss("a member of a zip that goes on in the next one");
  }
  ByteSpan sample = packed.bytes;
  if (packed.deflated) {
    const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> engine(
        libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
    if (engine == nullptr) return ResourceExhausted("no memory for libdeflate");
    std::uint8_t* const to = out.Ensure(std::max<std::size_t>(member.size, 1));
    // Neither fewer nor more bytes than the member says.
    const libdeflate_result outcome =
        libdeflate_deflate_decompress(engine.get(), packed.bytes.data(), packed.bytes.size(), to,
                                      member.size, /*actual_out_nbytes_ret=*/nullptr);
    if (outcome != LIBDEFLATE_SUCCESS) return DataLoss("a damaged member of a zip");
    sample = {reinterpret_cast<const std::byte*>(to), member.size};
  }
  if (libdeflate_crc32(0, sample.data(), sample.size()) != member.crc) {
    return DataLoss("a damaged member of a zip: its checksum is another one");
  }
  return sample;
}

Result<ByteSpan> UnpackHead(ByteSpan head, const wire::ZipMember& member, std::size_t most,
                            ScratchBuffer& out) {
  HR_TRY(const Packed packed, PackedIn(head, member));
  most = std::min<std::size_t>(most, member.size);
  if (!packed.deflated) return packed.bytes.first(std::min(most, packed.bytes.size()));
  std::uint8_t* const to = out.Ensure(std::max<std::size_t>(most, 1));
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) return ResourceExhausted("no memory for zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.bytes.data()));
  stream.avail_in = static_cast<uInt>(packed.bytes.size());
  stream.next_out = to;
  stream.avail_out = static_cast<uInt>(most);
  const int outcome = ::inflate(&stream, Z_SYNC_FLUSH);
  const std::size_t made = most - stream.avail_out;
  ::inflateEnd(&stream);
  if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR) {
    return DataLoss("a damaged member of a zip");
  }
  return ByteSpan{reinterpret_cast<const std::byte*>(to), made};
}

Status UnpackSample(const Source& source, std::int64_t row, SourceSample& sample,
                    ScratchBuffer& out) {
  if (!sample.member) return {};
  Result<ByteSpan> unpacked = UnpackMember(sample.bytes, *sample.member, out);
  if (!unpacked.ok()) return unpacked.status().WithContext(source.NameOf(row));
  sample.bytes = *unpacked;
  sample.member.reset();
  return {};
}

}  // namespace headrace::dataworker
