#pragma once

#include <array>
#include <cstdint>

#include "ops/vision/jpeg/jpeg_huffman_table.h"

namespace headrace::ops {

// Decodes the entropy-coded data of baseline JPEG scans in place of libjpeg (ADR 0009): the same
// coefficients, sooner. One lookup finds up to two codes with their values. Unwanted blocks are
// skipped by several symbols at a time.
//
// Accepts only undamaged data: data that libjpeg would repair, with or without a warning, is
// refused.
// Not thread-safe. Safe on hostile input.
class JpegHuffmanDecoder {
 public:
  // Begins, at the source's position, the scan that jpeg_start_decompress has started. False: the
  // scan is progressive, arithmetic, or has one component at a time. libjpeg must have checked the
  // Huffman tables.
  bool Begin(const jpeg_decompress_struct& info);

  // Says that only MCU columns [first, last] are wanted in later calls. Blocks of other columns may
  // be left zero.
  void WantColumns(std::int64_t first, std::int64_t last);

  // Decodes the next MCU. blocks: its zeroed blocks, or nullptr to skip it. False: the data is
  // damaged or ends here.
  bool DecodeMcu(JBLOCKROW* blocks);

  // The first byte that was not read. Bytes that were read ahead hold no marker.
  [[nodiscard]] const JOCTET* next() const { return reader_.next; }

 private:
  // Bits of the stream, first bit highest. Zeros follow the last byte or a marker.
  struct BitReader {
    const JOCTET* next = nullptr;
    const JOCTET* end = nullptr;
    std::uint64_t bits = 0;
    int count = 0;   // valid bits, with the zeros past the end
    int padded = 0;  // those past the end

    void Refill();
    void RefillToMarker();
    [[nodiscard]] std::uint32_t Peek(int n) const {
      return static_cast<std::uint32_t>(bits >> (64 - n));
    }
    void Drop(int n) {
      bits <<= n;
      count -= n;
    }
    int ReadValue(int size);
  };
  struct Block {
    int component = 0;
    const JpegHuffmanTable* dc = nullptr;
    JpegHuffmanTable* ac = nullptr;
  };

  static bool ReadDifference(const JpegHuffmanTable& table, BitReader& in, int* difference);
  static std::uint32_t ReadSymbol(const JpegHuffmanTable& table, BitReader& in, JCOEF* block,
                                  std::uint32_t k);
  static bool ReadCoefficients(const JpegHuffmanTable& table, BitReader& in, JCOEF* block);
  static bool SkipCoefficients(const JpegHuffmanTable& table, BitReader& in);
  bool DecodeBlocks(JBLOCKROW* blocks, BitReader& in);
  bool Restart();

  BitReader reader_;
  std::array<JpegHuffmanTable, NUM_HUFF_TBLS> dc_, ac_;
  std::array<Block, D_MAX_BLOCKS_IN_MCU> blocks_;
  int block_count_ = 0;
  std::array<std::uint32_t, MAX_COMPS_IN_SCAN> last_dc_{};
  std::int64_t columns_ = 0, column_ = 0;  // MCUs
  std::int64_t first_ = 0, last_ = 0;
  unsigned restart_interval_ = 0, until_restart_ = 0;  // MCUs
  int next_restart_ = 0;
};

}  // namespace headrace::ops
