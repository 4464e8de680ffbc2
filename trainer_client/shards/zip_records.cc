#include "trainer_client/shards/zip_records.h"

#include <algorithm>

namespace headrace::client {
namespace {

constexpr std::size_t kEnd = 22, kLocator64 = 20, kEnd64 = 56;
constexpr std::uint32_t kEndSignature = 0x06054b50, kLocator64Signature = 0x07064b50,
                        kEnd64Signature = 0x06064b50, kHeaderSignature = 0x02014b50;
constexpr std::uint32_t kIn64 = 0xffffffff;
constexpr std::uint64_t kExtra64 = 1;
constexpr unsigned kUtf8 = 0x800;

// Little-endian, as all numbers of a zip.
std::uint64_t Number(ByteSpan bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0;) {
    number = number << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  }
  return number;
}
std::uint64_t Two(ByteSpan bytes, std::size_t at) { return Number(bytes, at, 2); }
std::uint64_t Four(ByteSpan bytes, std::size_t at) { return Number(bytes, at, 4); }
std::uint64_t Eight(ByteSpan bytes, std::size_t at) { return Number(bytes, at, 8); }

// Code page 437 from 128 on: names that do not say that they are UTF-8.
constexpr char16_t kCodePage[] =
    u"ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧"
    u"╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";
static_assert(sizeof(kCodePage) / sizeof(char16_t) == 129);

std::string OfCodePage(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128) {
      made += c;
      continue;
    }
    const unsigned code = kCodePage[byte - 128];
    if (code >= 0x800) {
      made += static_cast<char>(0xe0 | code >> 12);
      made += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    } else {
      made += static_cast<char>(0xc0 | code >> 6);
    }
    made += static_cast<char>(0x80 | (code & 0x3f));
  }
  return made;
}

// Replaces the numbers that do not fit into 32 bits by those of the extra field.
Status TakeExtra64(ByteSpan extra, ZipHeader& header) {
  while (extra.size() >= 4) {
    const std::uint64_t kind = Two(extra, 0), size = Two(extra, 2);
    if (size > extra.size() - 4) return DataLoss("an extra field that goes on after its entry");
    ByteSpan data = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
    if (kind != kExtra64) continue;
    for (std::uint64_t* number : {&header.size, &header.packed_size, &header.first}) {
      if (*number != kIn64) continue;
      if (data.size() < 8) return DataLoss("a field of zip64 that is too short");
      *number = Eight(data, 0);
      data = data.subspan(8);
    }
    return {};
  }
  return {};
}

}  // namespace

Result<ZipEnd> ReadZipEnd(ByteSpan tail, std::uint64_t size) {
  std::size_t at = 0;
  bool found = false;
  for (std::size_t comment = 0; !found && kEnd + comment <= tail.size(); ++comment) {
    at = tail.size() - kEnd - comment;
    found = Four(tail, at) == kEndSignature && Two(tail, at + 20) == comment;
    if (comment == 65535) break;
  }
  if (!found) return DataLoss("no directory of a zip at its end: it is torn, or no zip");
  const ByteSpan end = tail.subspan(at);
  std::uint64_t entries = Two(end, 10), entries_here = Two(end, 8);
  std::uint64_t directory = Four(end, 12), offset = Four(end, 16);
  std::uint64_t before = size - tail.size() + at;  // where the directory ends
  if (at >= kLocator64 && Four(tail, at - kLocator64) == kLocator64Signature) {
    if (at < kLocator64 + kEnd64 || Four(tail, at - kLocator64 - kEnd64) != kEnd64Signature) {
      return DataLoss("the end of zip64 is not where it belongs");
    }
    const ByteSpan end64 = tail.subspan(at - kLocator64 - kEnd64);
    entries_here = Eight(end64, 24);
    entries = Eight(end64, 32);
    directory = Eight(end64, 40);
    offset = Eight(end64, 48);
    before -= kLocator64 + kEnd64;
  }
  if (entries_here != entries) return Unsupported("it is one of several parts of a zip: join them");
  if (directory > before || offset > before - directory) {
    return DataLoss("its directory does not fit into it: it is torn");
  }
  if (entries > directory / ZipHeader::kBytes) {
    return DataLoss("its directory is too small for what it has");
  }
  const std::uint64_t first = before - directory;
  return ZipEnd{.first = first, .size = directory, .entries = entries, .shift = first - offset};
}

std::uint64_t ZipHeaderBytes(ByteSpan rest) {
  return ZipHeader::kBytes + Two(rest, 28) + Two(rest, 30) + Two(rest, 32);
}

Result<ZipHeader> ReadZipHeader(ByteSpan rest) {
  if (Four(rest, 0) != kHeaderSignature) return DataLoss("no entry of a zip's directory");
  ZipHeader header;
  header.bytes = ZipHeaderBytes(rest);
  header.flags = static_cast<unsigned>(Two(rest, 8));
  header.method = static_cast<unsigned>(Two(rest, 10));
  header.crc = static_cast<std::uint32_t>(Four(rest, 16));
  header.packed_size = Four(rest, 20);
  header.size = Four(rest, 24);
  header.first = Four(rest, 42);
  const std::size_t name_size = Two(rest, 28);
  const std::string_view name = AsText(rest.subspan(ZipHeader::kBytes, name_size));
  header.name = (header.flags & kUtf8) != 0 ? std::string(name) : OfCodePage(name);
  HR_RETURN_IF_ERROR(
      TakeExtra64(rest.subspan(ZipHeader::kBytes + name_size, Two(rest, 30)), header));
  return header;
}

std::string Shown(std::string_view name) {
  constexpr std::size_t kMost = 200;
  std::string shown(name.substr(0, kMost));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return name.size() > kMost ? shown + "..." : shown;
}

}  // namespace headrace::client
