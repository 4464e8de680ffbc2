#include "trainer_client/shards/tar_header.h"

#include <algorithm>
#include <charconv>

namespace headrace::client {
namespace {

using Kind = TarHeader::Kind;

// Up to the first zero.
std::string_view TextOf(std::string_view field) { return field.substr(0, field.find('\0')); }

// Octal digits among spaces, or GNU's form of large numbers: a byte 0x80 and big-endian bytes.
std::optional<std::uint64_t> NumberOf(std::string_view field) {
  const auto first = static_cast<unsigned char>(field[0]);
  std::uint64_t number = 0;
  if (first >= 0x80) {
    if (first != 0x80) return std::nullopt;  // negative, or beyond every file
    for (const char c : field.substr(1)) {
      if (number > kMostTarSize >> 8) return std::nullopt;
      number = number << 8 | static_cast<unsigned char>(c);
    }
    return number <= kMostTarSize ? std::optional(number) : std::nullopt;
  }
  std::string_view digits = TextOf(field);
  const auto is_space = [](char c) { return c == ' '; };
  while (!digits.empty() && is_space(digits.front())) digits.remove_prefix(1);
  while (!digits.empty() && is_space(digits.back())) digits.remove_suffix(1);
  for (const char c : digits) {
    if (c < '0' || c > '7') return std::nullopt;
    number = number << 3 | static_cast<std::uint64_t>(c - '0');  // 12 digits: 36 bits
  }
  return number;
}

Kind KindOf(char type, std::string_view name) {
  switch (type) {
    case '\0':  // before POSIX a directory was known by its name
      return name.ends_with('/') ? Kind::kOther : Kind::kFile;
    case '0':
    case '7':
      return Kind::kFile;
    case '1':
    case '2':
      return Kind::kLink;
    case '3':
    case '4':
    case '5':
    case '6':
      return Kind::kOther;
    case 'L':
      return Kind::kLongName;
    case 'K':
      return Kind::kLongTarget;
    case 'x':
    case 'X':
      return Kind::kPax;
    case 'g':
      return Kind::kPaxGlobal;
    case 'S':
      return Kind::kSparse;
    default:
      return Kind::kUnknown;
  }
}

}  // namespace

Result<std::optional<TarHeader>> ReadTarHeader(ByteSpan block) {
  const std::string_view text = AsText(block.first(kTarBlock));
  std::int64_t sum = 0, signed_sum = 0;  // old programs added signed bytes
  bool zeros = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_checksum = i >= 148 && i < 156;
    const char c = is_checksum ? ' ' : text[i];
    zeros = zeros && text[i] == '\0';
    sum += static_cast<unsigned char>(c);
    signed_sum += static_cast<signed char>(c);
  }
  if (zeros) return std::optional<TarHeader>();
  const std::optional<std::uint64_t> told = NumberOf(text.substr(148, 8));
  const auto is = [&](std::int64_t made) {
    return told && static_cast<std::int64_t>(*told) == made;
  };
  if (!is(sum) && !is(signed_sum)) return DataLoss("no header of a tar");
  const std::optional<std::uint64_t> size = NumberOf(text.substr(124, 12));
  if (!size) return DataLoss("a header with an impossible size");
  TarHeader header;
  header.size = *size;
  header.name = TextOf(text.substr(0, 100));
  header.kind = KindOf(text[156], header.name);
  const std::string_view prefix = TextOf(text.substr(345, 155));
  const bool is_gnu = header.kind == Kind::kLongName || header.kind == Kind::kLongTarget ||
                      header.kind == Kind::kSparse;
  if (!prefix.empty() && !is_gnu) header.name = std::string(prefix) + "/" + header.name;
  return std::optional(std::move(header));
}

Result<PaxRecords> ReadPaxRecords(std::string_view data) {
  PaxRecords found;
  while (!data.empty() && data.front() != '\0') {
    // "LENGTH KEY=VALUE\n", of LENGTH bytes in all
    const std::size_t space = data.find(' ');
    std::size_t length = 0;
    const auto read =
        std::from_chars(data.data(), data.data() + std::min(space, data.size()), length);
    if (space == std::string_view::npos || read.ec != std::errc() ||
        read.ptr != data.data() + space || length > data.size() || length < space + 3 ||
        data[length - 1] != '\n') {
      return DataLoss("a damaged pax header");
    }
    const std::string_view record = data.substr(space + 1, length - space - 2);
    data.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == 0 || equals == std::string_view::npos) return DataLoss("a damaged pax header");
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") {
      found.path = value;
    } else if (key == "size") {
      std::uint64_t size = 0;
      const auto number = std::from_chars(value.data(), value.data() + value.size(), size);
      if (number.ec != std::errc() || number.ptr != value.data() + value.size() ||
          size > kMostTarSize) {
        return DataLoss("a pax header with an impossible size");
      }
      found.size = size;
    } else if (key.starts_with("GNU.sparse.")) {
      found.sparse = true;
    }
  }
  return found;
}

}  // namespace headrace::client
