#include "ops/vision/jpeg/jpeg_huffman_table.h"

#include <algorithm>
#include <iterator>

namespace headrace::ops {
namespace {

using Symbol = JpegHuffmanTable::Symbol;

bool SameCodes(const JHUFF_TBL& a, const JHUFF_TBL& b) {
  if (!std::equal(std::begin(a.bits) + 1, std::end(a.bits), std::begin(b.bits) + 1)) return false;
  int symbols = 0;
  for (int length = 1; length <= 16; ++length) symbols += a.bits[length];
  return std::equal(a.huffval, a.huffval + symbols, b.huffval);
}

// `peeked`: a lookup's bits, with the code in front.
Symbol Interpret(int symbol, int length, std::uint32_t peeked, bool is_ac) {
  constexpr int kPeek = JpegHuffmanTable::kPeek;
  const int size = symbol & 15;
  Symbol out;
  out.length = static_cast<std::uint8_t>(length);
  out.run = static_cast<std::uint8_t>(is_ac ? symbol >> 4 : 0);
  if (size == 0) {
    out.ends_block = is_ac && out.run != 15;
  } else if (length + size > kPeek) {
    out.value_follows = 1;
    out.value = static_cast<std::int16_t>(size);
  } else {
    const std::uint32_t bits = (peeked >> (kPeek - length - size)) & ((1U << size) - 1);
    out.length = static_cast<std::uint8_t>(length + size);
    out.value = static_cast<std::int16_t>(ExtendJpegValue(static_cast<int>(bits), size));
  }
  return out;
}

// The symbol behind `used` of the `known` bits of `peeked`, if they hold all of it.
Symbol Behind(const JpegHuffmanTable& table, std::uint32_t peeked, int known, int used) {
  constexpr int kPeek = JpegHuffmanTable::kPeek;
  const std::uint32_t rest = peeked & ((1U << (known - used)) - 1);
  const int shift = kPeek - (known - used);
  const Symbol symbol = table.symbols[shift >= 0 ? rest << shift : rest >> -shift];
  return symbol.value_follows || symbol.length > known - used ? Symbol{} : symbol;
}

}  // namespace

void JpegHuffmanTable::Build(const JHUFF_TBL& source, bool is_ac) {
  if (built_ && SameCodes(source, source_)) return;
  source_ = source;
  built_ = true;
  has_pairs_ = has_skips_ = false;
  symbols.fill({});
  std::int32_t code = 0, index = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    offset_[length] = index - code;
    for (int i = 0; i < source.bits[length]; ++i, ++code, ++index) {
      if (length > kPeek) continue;
      const std::uint32_t first = static_cast<std::uint32_t>(code) << (kPeek - length);
      for (std::uint32_t low = 0; low < 1U << (kPeek - length); ++low) {
        symbols[first | low] = Interpret(source.huffval[index], length, first | low, is_ac);
      }
    }
    largest_[length] = source.bits[length] > 0 ? code - 1 : -1;
  }
}

void JpegHuffmanTable::NeedPairs() {
  if (has_pairs_) return;
  has_pairs_ = true;
  for (std::uint32_t peeked = 0; peeked < pairs.size(); ++peeked) {
    Pair& pair = pairs[peeked] = {};
    const Symbol first = symbols[peeked];
    if (first.length == 0 || first.ends_block || first.value_follows) continue;
    pair.length = first.length;
    pair.first_step = pair.step = static_cast<std::uint8_t>(first.run + 1);
    pair.first_value = pair.value = first.value;
    const Symbol second = Behind(*this, peeked, kPeek, first.length);
    if (second.length == 0) continue;
    pair.length = static_cast<std::uint8_t>(first.length + second.length);
    pair.ends_block = second.ends_block;
    if (second.ends_block) continue;
    pair.step = static_cast<std::uint8_t>(first.run + 1 + second.run + 1);
    pair.value = second.value;
  }
}

void JpegHuffmanTable::NeedSkips() {
  if (has_skips_) return;
  has_skips_ = true;
  for (std::uint32_t peeked = 0; peeked < skips.size(); ++peeked) {
    int used = 0, step = 0;
    Symbol symbol;
    while (!symbol.ends_block) {
      symbol = Behind(*this, peeked, kSkipPeek, used);
      if (symbol.length == 0) break;
      used += symbol.length;
      if (!symbol.ends_block) step += symbol.run + 1;
    }
    Skip& skip = skips[peeked];
    skip.length = static_cast<std::uint8_t>(used & 0x7F);
    skip.ends_block = symbol.ends_block;
    skip.step = static_cast<std::uint8_t>(step);
  }
}

JpegHuffmanTable::LongCode JpegHuffmanTable::FindLong(std::uint32_t bits) const {
  for (int length = kPeek + 1; length <= 16; ++length) {
    const auto code = static_cast<std::int32_t>(bits >> (16 - length));
    if (code <= largest_[length]) return {source_.huffval[offset_[length] + code], length};
  }
  return {};
}

}  // namespace headrace::ops
