#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
// jpeglib.h needs what <cstdio> declares.
// clang-format off
#include <jpeglib.h>
// clang-format on

namespace headrace::ops {

// The value of `size` bits in JPEG (T.81, figure F.12); size > 0.
constexpr int ExtendJpegValue(int bits, int size) {
  return bits < (1 << (size - 1)) ? bits - (1 << size) + 1 : bits;
}

// Decodes the next bits of an entropy-coded stream by lookup. Lengths are in bits, steps in
// coefficients of the block. An entry with length 0 gives no answer: the code is longer than the
// lookup, there is no code, or its result does not fit into such an entry.
struct JpegHuffmanTable {
  static constexpr int kPeek = 10, kSkipPeek = 12;

  // One symbol, with its value if that fits. kDC: `run` is 0 and no symbol ends a block.
  struct Symbol {
    std::uint8_t length = 0;
    std::uint8_t run = 0;
    std::uint8_t ends_block : 1 = 0;
    // `length` covers only the code; `value` is the number of bits that follow it.
    std::uint8_t value_follows : 1 = 0;
    std::int16_t value = 0;
    friend bool operator==(const Symbol&, const Symbol&) = default;
  };
  // One or two symbols with values, and perhaps the block's end after them. Steps include the
  // values' own coefficients. If there is only one value, both halves name it.
  struct Pair {
    std::uint8_t length = 0;
    std::uint8_t ends_block = 0;
    std::uint8_t first_step = 0, step = 0;
    std::int16_t first_value = 0, value = 0;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  // As many symbols as fit into one lookup.
  struct Skip {
    std::uint8_t length : 7 = 0;
    std::uint8_t ends_block : 1 = 0;
    std::uint8_t step = 0;
    friend bool operator==(const Skip&, const Skip&) = default;
  };

  // Makes this the table of `source`, which libjpeg must have checked. NeedPairs and NeedSkips add
  // what only AC coding or only skipping needs. Cheap if the table is that of `source` already:
  // most files use the same tables.
  void Build(const JHUFF_TBL& source, bool is_ac);
  void NeedPairs();
  void NeedSkips();
  // Finds a code of more than kPeek bits at the front of 16 bits: its symbol and length. Symbol -1:
  // there is none.
  struct LongCode {
    int symbol = -1, length = 0;
  };
  [[nodiscard]] LongCode FindLong(std::uint32_t bits) const;

  std::array<Symbol, std::size_t{1} << kPeek> symbols{};
  std::array<Pair, std::size_t{1} << kPeek> pairs{};
  std::array<Skip, std::size_t{1} << kSkipPeek> skips{};

 private:
  JHUFF_TBL source_{};
  std::array<std::int32_t, 17> largest_{}, offset_{};  // by code length: codes, symbol - code
  bool built_ = false, has_pairs_ = false, has_skips_ = false;
};

}  // namespace headrace::ops
