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

// The value of JPEG's `size` bits (T.81, figure F.12); size > 0.
constexpr int ExtendJpegValue(int bits, int size) {
  return bits < (1 << (size - 1)) ? bits - (1 << size) + 1 : bits;
}

// What the next bits of an entropy-coded stream say, by lookup. Lengths are in bits, steps in
// coefficients of the block. An entry with length 0 says nothing: the code is longer than the
// lookup, or there is none, or it takes more than such an entry can say.
struct JpegHuffmanTable {
  static constexpr int kPeek = 10, kSkipPeek = 12;

  // One symbol, its value too where that fits. kDC: `run` is 0 and no symbol ends a block.
  struct Symbol {
    std::uint8_t length = 0;
    std::uint8_t run = 0;
    std::uint8_t ends_block : 1 = 0;
    // Only the code is within `length`; `value` says how many bits follow it.
    std::uint8_t value_follows : 1 = 0;
    std::int16_t value = 0;
    friend bool operator==(const Symbol&, const Symbol&) = default;
  };
  // One or two symbols with values, and perhaps the block's end behind them. Steps include the
  // values' own coefficients; where there is one, both halves name it.
  struct Pair {
    std::uint8_t length = 0;
    std::uint8_t ends_block = 0;
    std::uint8_t first_step = 0, step = 0;
    std::int16_t first_value = 0, value = 0;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  // As many symbols as fit.
  struct Skip {
    std::uint8_t length : 7 = 0;
    std::uint8_t ends_block : 1 = 0;
    std::uint8_t step = 0;
    friend bool operator==(const Skip&, const Skip&) = default;
  };

  // Makes this the table of `source`, which libjpeg must have checked; what only AC coding or only
  // skipping needs is made by the next two. Cheap when it is that already: most files use the same.
  void Build(const JHUFF_TBL& source, bool is_ac);
  void NeedPairs();
  void NeedSkips();
  // The symbol whose code of more than kPeek bits is at the front of 16 bits, and the code's
  // length; symbol -1 where there is none.
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
