#include "ops/vision/jpeg/jpeg_huffman.h"

#include <bit>
#include <cstring>

namespace headrace::ops {
namespace {

// Zigzag order (T.81, figure A.6). The rest is for runs past the end of a damaged block.
constexpr std::array<std::uint8_t, 80> kNaturalOrder = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
    40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
    29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

// Number of buffered bits that is enough for any code and its value.
constexpr int kEnough = 32;

bool HasByteFF(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  return ((~word - kOnes) & word & kHighs) != 0;
}

}  // namespace

// Leaves at least 56 bits in the buffer.
inline void JpegHuffmanDecoder::BitReader::Refill() {
  if (end - next >= 8) [[likely]] {
    std::uint64_t word;
    std::memcpy(&word, next, sizeof word);
    if (!HasByteFF(word)) [[likely]] {
      if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
      bits |= word >> count;
      next += (63 - count) >> 3;
      count |= 56;
      return;
    }
  }
  BitReader copy = *this;  // so that the address of this one is not needed: it stays in registers
  copy.RefillToMarker();
  *this = copy;
}

void JpegHuffmanDecoder::BitReader::RefillToMarker() {
  // The other branch leaves bits of the next byte below the valid ones.
  bits = count == 0 ? 0 : bits >> (64 - count) << (64 - count);
  for (; count < 56; count += 8) {
    std::uint64_t byte = 0;
    if (next != end && *next != 0xFF) {
      byte = *next++;
    } else if (end - next >= 2 && next[1] == 0) {
      byte = 0xFF;
      next += 2;
    } else {
      padded += 8;
    }
    bits |= byte << (56 - count);
  }
}

inline int JpegHuffmanDecoder::BitReader::ReadValue(int size) {
  const int value = ExtendJpegValue(static_cast<int>(Peek(size)), size);
  Drop(size);
  return value;
}

bool JpegHuffmanDecoder::Begin(const jpeg_decompress_struct& info) {
  if (info.progressive_mode || info.arith_code || info.data_precision != 8 ||
      info.comps_in_scan != info.num_components) {
    return false;
  }
  block_count_ = info.blocks_in_MCU;
  for (int i = 0; i < block_count_; ++i) {
    const int component = info.MCU_membership[i];
    const jpeg_component_info& of = *info.cur_comp_info[component];
    const JHUFF_TBL* dc = info.dc_huff_tbl_ptrs[of.dc_tbl_no];
    const JHUFF_TBL* ac = info.ac_huff_tbl_ptrs[of.ac_tbl_no];
    if (dc == nullptr || ac == nullptr) return false;
    blocks_[i] = {component, &dc_[of.dc_tbl_no], &ac_[of.ac_tbl_no]};
    dc_[of.dc_tbl_no].Build(*dc, false);
    ac_[of.ac_tbl_no].Build(*ac, true);
    ac_[of.ac_tbl_no].NeedPairs();
  }
  reader_ = {.next = info.src->next_input_byte,
             .end = info.src->next_input_byte + info.src->bytes_in_buffer};
  last_dc_.fill(0);
  columns_ = static_cast<std::int64_t>(info.MCUs_per_row);
  column_ = 0;
  first_ = 0;
  last_ = columns_;
  restart_interval_ = until_restart_ = info.restart_interval;
  next_restart_ = 0;
  return true;
}

void JpegHuffmanDecoder::WantColumns(std::int64_t first, std::int64_t last) {
  first_ = first;
  last_ = last;
}

inline bool JpegHuffmanDecoder::ReadDifference(const JpegHuffmanTable& table, BitReader& in,
                                               int* difference) {
  in.Refill();
  const JpegHuffmanTable::Symbol symbol = table.symbols[in.Peek(JpegHuffmanTable::kPeek)];
  in.Drop(symbol.length);
  if (symbol.length == 0) {
    const auto [size, length] = table.FindLong(in.Peek(16));
    if (size < 0 || size > 15) return false;
    in.Drop(length);
    *difference = size == 0 ? 0 : in.ReadValue(size);
  } else {
    *difference = symbol.value_follows ? in.ReadValue(symbol.value) : symbol.value;
  }
  return true;
}

// Reads one symbol of a block of which k coefficients are known. Returns how many then are known:
// 64 when it ends the block. More than 64: no code begins like this or the block is too long. If
// block == nullptr, it skips the values.
std::uint32_t JpegHuffmanDecoder::ReadSymbol(const JpegHuffmanTable& table, BitReader& in,
                                             JCOEF* block, std::uint32_t k) {
  const JpegHuffmanTable::Symbol symbol = table.symbols[in.Peek(JpegHuffmanTable::kPeek)];
  in.Drop(symbol.length);
  std::uint32_t run = symbol.run;
  int value = symbol.value, size = symbol.value_follows ? value : 0;
  bool ends = symbol.ends_block;
  if (symbol.length == 0) {
    const auto [code, length] = table.FindLong(in.Peek(16));
    if (code < 0) return DCTSIZE2 + 1;
    in.Drop(length);
    run = static_cast<std::uint32_t>(code) >> 4;
    size = code & 15;
    value = 0;
    ends = size == 0 && run != 15;
  }
  if (ends) return DCTSIZE2;
  if (size > 0) value = in.ReadValue(size);
  k += run + 1;
  if (block != nullptr) block[kNaturalOrder[k - 1]] = static_cast<JCOEF>(value);
  return k;
}

inline bool JpegHuffmanDecoder::ReadCoefficients(const JpegHuffmanTable& table, BitReader& in,
                                                 JCOEF* block) {
  std::uint32_t k = 1;
  while (k < DCTSIZE2) {
    if (in.count < kEnough) in.Refill();
    const JpegHuffmanTable::Pair pair = table.pairs[in.Peek(JpegHuffmanTable::kPeek)];
    if (pair.length == 0 || k + pair.step + pair.ends_block > DCTSIZE2) [[unlikely]] {
      BitReader copy = in;  // as in Refill
      k = ReadSymbol(table, copy, block, k);
      in = copy;
      if (k > DCTSIZE2) return false;
      continue;
    }
    in.Drop(pair.length);
    block[kNaturalOrder[k + pair.first_step - 1]] = pair.first_value;
    k += pair.step;
    block[kNaturalOrder[k - 1]] = pair.value;
    if (pair.ends_block) return true;
  }
  return true;
}

inline bool JpegHuffmanDecoder::SkipCoefficients(const JpegHuffmanTable& table, BitReader& in) {
  std::uint32_t k = 1;
  while (k < DCTSIZE2) {
    if (in.count < kEnough) in.Refill();
    const JpegHuffmanTable::Skip skip = table.skips[in.Peek(JpegHuffmanTable::kSkipPeek)];
    if (skip.length == 0 || k + skip.step + skip.ends_block > DCTSIZE2) [[unlikely]] {
      BitReader copy = in;
      k = ReadSymbol(table, copy, nullptr, k);
      in = copy;
      if (k > DCTSIZE2) return false;
      continue;
    }
    in.Drop(skip.length);
    k += skip.step;
    if (skip.ends_block) return true;
  }
  return true;
}

inline bool JpegHuffmanDecoder::DecodeBlocks(JBLOCKROW* blocks, BitReader& in) {
  for (int i = 0; i < block_count_; ++i) {
    const Block& block = blocks_[i];
    int difference = 0;
    if (!ReadDifference(*block.dc, in, &difference)) return false;
    // The sum may wrap in a damaged file; as in libjpeg, only its low 16 bits count.
    const std::uint32_t dc = last_dc_[block.component] += static_cast<std::uint32_t>(difference);
    if (blocks == nullptr) {
      block.ac->NeedSkips();
      if (!SkipCoefficients(*block.ac, in)) return false;
    } else {
      JCOEF* const coefficients = *blocks[i];
      coefficients[0] = static_cast<JCOEF>(dc);
      if (!ReadCoefficients(*block.ac, in, coefficients)) return false;
    }
  }
  return true;
}

bool JpegHuffmanDecoder::DecodeMcu(JBLOCKROW* blocks) {
  if (restart_interval_ > 0) {
    if (until_restart_ == 0 && !Restart()) return false;
    --until_restart_;
  }
  if (column_ < first_ || column_ > last_) blocks = nullptr;
  if (++column_ == columns_) column_ = 0;
  BitReader in = reader_;
  const bool sound = DecodeBlocks(blocks, in);
  reader_ = in;
  return sound && in.count >= in.padded;
}

// Continues after the restart marker, which must come next.
bool JpegHuffmanDecoder::Restart() {
  reader_.Refill();
  const int left = reader_.count - reader_.padded;
  if (left < 0 || left >= 8) return false;
  const JOCTET* at = reader_.next;
  while (reader_.end - at >= 2 && at[0] == 0xFF && at[1] == 0xFF) ++at;
  if (reader_.end - at < 2 || at[1] != JPEG_RST0 + next_restart_) return false;
  reader_ = {.next = at + 2, .end = reader_.end};
  last_dc_.fill(0);
  next_restart_ = (next_restart_ + 1) & 7;
  until_restart_ = restart_interval_;
  return true;
}

}  // namespace headrace::ops
