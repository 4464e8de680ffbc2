#include "ops/vision/jpeg/jpeg_huffman_table.h"

#include <algorithm>
#include <bit>
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

// `peeked`: the bits of a lookup, beginning with the code.
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

// The first symbol of `known` bits, if they hold the whole symbol and its value.
Symbol FirstOf(const JpegHuffmanTable& table, std::uint32_t bits, int known) {
  constexpr int kPeek = JpegHuffmanTable::kPeek;
  const int shift = kPeek - known;
  const Symbol symbol = table.symbols[shift >= 0 ? bits << shift : bits >> -shift];
  return symbol.value_follows || symbol.length > known ? Symbol{} : symbol;
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
  std::size_t at = 0;
  // Entries that begin with the same symbols are adjacent.
  const auto fill = [&](int bits_left, const Pair& pair) {
    const std::size_t same = std::size_t{1} << bits_left;
    std::fill_n(&pairs[at], same, pair);
    at += same;
  };
  while (at < pairs.size()) {
    const Symbol first = symbols[at];
    if (first.length == 0 || first.ends_block || first.value_follows) {
      fill(0, {});
      continue;
    }
    const int left = kPeek - first.length;
    const std::size_t end = at + (std::size_t{1} << left);
    Pair alone;
    alone.length = first.length;
    alone.first_step = alone.step = static_cast<std::uint8_t>(first.run + 1);
    alone.first_value = alone.value = first.value;
    while (at < end) {
      const auto rest = static_cast<std::uint32_t>(at) & ((1U << left) - 1);
      const Symbol second = FirstOf(*this, rest, left);
      if (second.length == 0) {
        fill(0, alone);
        continue;
      }
      Pair both = alone;
      both.length = static_cast<std::uint8_t>(first.length + second.length);
      both.ends_block = second.ends_block;
      if (!second.ends_block) {
        both.step = static_cast<std::uint8_t>(first.run + 1 + second.run + 1);
        both.value = second.value;
      }
      fill(left - second.length, both);
    }
  }
}

// The entry for `known` bits is their first symbol, then the entry for the bits that are left. A
// shorter table already has the latter. All entries with the same first symbol are adjacent, in the
// order of the shorter table. So they equal that table plus what the symbol adds.
void JpegHuffmanTable::NeedSkips() {
  if (has_skips_) return;
  has_skips_ = true;
  // A Skip as a number: the sum of two numbers is the Skip of both, since lengths stay below 128.
  const auto word = [](const Skip& skip) { return std::bit_cast<std::uint16_t>(skip); };
  // The table of `known` bits begins at 1 << known.
  std::array<std::uint16_t, std::size_t{2} << kSkipPeek> tables;
  tables[1] = 0;
  for (int known = 1; known <= kSkipPeek; ++known) {
    const std::size_t size = std::size_t{1} << known;
    std::uint16_t* const table = &tables[size];
    for (std::size_t bits = 0; bits < size;) {
      const Symbol symbol = FirstOf(*this, static_cast<std::uint32_t>(bits), known);
      if (symbol.length == 0) {
        table[bits++] = 0;
        continue;
      }
      const std::size_t same = std::size_t{1} << (known - symbol.length);
      Skip first;
      first.length = symbol.length & 0x7F;
      first.ends_block = symbol.ends_block;
      if (symbol.ends_block) {
        std::fill_n(table + bits, same, word(first));
      } else {
        first.step = static_cast<std::uint8_t>(symbol.run + 1);
        std::transform(&tables[same], &tables[same] + same, table + bits,
                       [add = word(first)](std::uint16_t rest) {
                         return static_cast<std::uint16_t>(rest + add);
                       });
      }
      bits += same;
    }
  }
  std::transform(&tables[skips.size()], &tables[skips.size()] + skips.size(), skips.begin(),
                 [](std::uint16_t skip) { return std::bit_cast<Skip>(skip); });
}

JpegHuffmanTable::LongCode JpegHuffmanTable::FindLong(std::uint32_t bits) const {
  for (int length = kPeek + 1; length <= 16; ++length) {
    const auto code = static_cast<std::int32_t>(bits >> (16 - length));
    if (code <= largest_[length]) return {source_.huffval[offset_[length] + code], length};
  }
  return {};
}

}  // namespace headrace::ops
