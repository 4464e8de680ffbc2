#include "remote/checksum.h"

#include <sodium.h>

#include <array>
#include <utility>

namespace headrace::remote {
namespace {

// A reflected CRC, eight bytes a step. `P` is the polynomial with its bits reversed.
template <typename Word, Word P>
class Crc {
 public:
  static Word Of(ByteSpan bytes) {
    static const Crc tables;
    Word crc = static_cast<Word>(~Word{0});
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
      Word next = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        auto byte = static_cast<std::uint8_t>(bytes[at + i]);
        if (i < sizeof(Word)) byte ^= static_cast<std::uint8_t>(crc >> (8 * i));
        next ^= tables.table_[7 - i][byte];
      }
      crc = next;
    }
    for (; at < bytes.size(); ++at) {
      const auto byte = static_cast<std::uint8_t>(bytes[at]) ^ static_cast<std::uint8_t>(crc);
      crc = static_cast<Word>(crc >> 8) ^ tables.table_[0][static_cast<std::uint8_t>(byte)];
    }
    return static_cast<Word>(~crc);
  }

 private:
  Crc() {
    for (std::size_t i = 0; i < 256; ++i) {
      Word crc = static_cast<Word>(i);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? P : Word{0});
      table_[0][i] = crc;
    }
    for (std::size_t i = 0; i < 256; ++i) {
      for (std::size_t step = 1; step < 8; ++step) {
        const Word before = table_[step - 1][i];
        table_[step][i] = (before >> 8) ^ table_[0][static_cast<std::uint8_t>(before)];
      }
    }
  }
  std::array<std::array<Word, 256>, 8> table_{};
};

template <typename Word>
std::string BigEndian(Word word) {
  std::string text;
  for (std::size_t i = sizeof(Word); i-- > 0;) text += static_cast<char>(word >> (8 * i));
  return text;
}

std::string Compute(Checksum::Kind kind, ByteSpan bytes) {
  switch (kind) {
    case Checksum::Kind::kCrc32:
      return BigEndian(Crc<std::uint32_t, 0xedb88320U>::Of(bytes));
    case Checksum::Kind::kCrc32c:
      return BigEndian(Crc<std::uint32_t, 0x82f63b78U>::Of(bytes));
    case Checksum::Kind::kCrc64Nvme:
      return BigEndian(Crc<std::uint64_t, 0x9a6c9329ac4bc9b5U>::Of(bytes));
    case Checksum::Kind::kSha256: {
      std::string digest(crypto_hash_sha256_BYTES, '\0');
      crypto_hash_sha256(reinterpret_cast<unsigned char*>(digest.data()),
                         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      return digest;
    }
  }
  return {};
}

struct Known {
  std::string_view header;
  Checksum::Kind kind;
  std::size_t bytes;
};
constexpr Known kKnown[] = {{"x-amz-checksum-crc32", Checksum::Kind::kCrc32, 4},
                            {"x-amz-checksum-crc32c", Checksum::Kind::kCrc32c, 4},
                            {"x-amz-checksum-crc64nvme", Checksum::Kind::kCrc64Nvme, 8},
                            {"x-amz-checksum-sha256", Checksum::Kind::kSha256, 32}};

}  // namespace

std::optional<Checksum> Checksum::OfHeader(std::string_view name, std::string_view value) {
  if (name == "x-goog-hash") {  // "crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ=="
    const std::size_t at = value.find("crc32c=");
    if (at == std::string_view::npos) return std::nullopt;
    value.remove_prefix(at + 7);
    return OfHeader("x-amz-checksum-crc32c", value.substr(0, value.find_first_of(", ")));
  }
  for (const Known& known : kKnown) {
    if (name != known.header) continue;
    std::string bytes(known.bytes, '\0');
    std::size_t size = 0;
    // "value-parts" is a checksum of checksums, and no base64.
    if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(),
                          value.data(), value.size(), nullptr, &size, nullptr,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        size != known.bytes) {
      return std::nullopt;
    }
    return Checksum{known.kind, std::move(bytes)};
  }
  return std::nullopt;
}

bool Checksum::Fits(ByteSpan bytes) const { return Compute(kind, bytes) == value; }

}  // namespace headrace::remote
