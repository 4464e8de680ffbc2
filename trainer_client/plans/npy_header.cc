#include "trainer_client/plans/npy_header.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace headrace::client {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostDimensions = 32;

Status Torn() { return DataLoss("no array of NumPy's, or a torn one"); }

// What follows "'name':", without blanks; nullopt: there is no such name.
std::optional<std::string_view> After(std::string_view text, std::string_view name) {
  std::string key = "'";
  key.append(name).append("':");
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// "(3, 4), ..."; nullopt: it is no tuple of sizes.
std::optional<std::vector<std::int64_t>> ReadShape(std::string_view text) {
  std::vector<std::int64_t> shape;
  const std::size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) return std::nullopt;
  text = text.substr(1, end - 1);
  while (true) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return shape;
    text.remove_prefix(first);
    std::int64_t side = -1;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), side);
    if (error != std::errc() || side < 0 || shape.size() == kMostDimensions) return std::nullopt;
    shape.push_back(side);
    text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    if (text.empty()) return shape;
    if (!text.starts_with(',')) return std::nullopt;
    text.remove_prefix(1);
  }
}

}  // namespace

Result<NpyHeader> ReadNpyHeader(ByteSpan head) {
  const std::string_view text = AsText(head);
  constexpr std::size_t kBegin = kMagic.size() + 2;  // with the version
  if (!text.starts_with(kMagic) || text.size() < kBegin + 4) return Torn();
  const auto version = static_cast<unsigned char>(text[kMagic.size()]);
  if (version < 1 || version > 3) return Unsupported("a version of .npy that is not known");
  const std::size_t width = version == 1 ? 2 : 4;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < width; ++i) {
    length |= std::uint64_t{static_cast<unsigned char>(text[kBegin + i])} << (8 * i);
  }
  NpyHeader made;
  made.bytes = kBegin + width + length;
  if (made.bytes > text.size()) return Torn();
  const std::string_view fields = text.substr(kBegin + width, length);
  const auto descr = After(fields, "descr"), order = After(fields, "fortran_order"),
             shape = After(fields, "shape");
  if (!descr || !order || !shape) return Torn();
  if (!order->starts_with("False")) return Unsupported("an array in Fortran's order");
  const std::size_t quote = descr->empty() ? std::string_view::npos : descr->find('\'', 1);
  if (!descr->starts_with('\'') || quote == std::string_view::npos) {
    return Unsupported("an array whose elements are no numbers");
  }
  made.elements = descr->substr(1, quote - 1);
  const auto sides = ReadShape(*shape);
  if (!sides) return Torn();
  made.shape = *sides;
  return made;
}

}  // namespace headrace::client
