#include "ops/vision/pil/byte_map_avx512.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define HR_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace headrace::ops {
namespace {

// 256 bytes in registers.
struct Table {
  __m512i quarter[4];
};

HR_TARGET inline Table LoadTable(const ByteTable& from) {
  Table table;
  for (int i = 0; i < 4; ++i) table.quarter[i] = _mm512_loadu_si512(from.data() + 64 * i);
  return table;
}

HR_TARGET inline __m512i Lookup(const Table& table, __m512i index) {
  const __m512i lower = _mm512_permutex2var_epi8(table.quarter[0], index, table.quarter[1]);
  const __m512i upper = _mm512_permutex2var_epi8(table.quarter[2], index, table.quarter[3]);
  return _mm512_mask_mov_epi8(lower, _mm512_movepi8_mask(index), upper);
}

HR_TARGET inline __mmask64 FirstBytes(std::size_t n) {
  return n >= 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1;
}

}  // namespace

HR_TARGET void MapBytesAvx512(std::uint8_t* bytes, std::size_t size, const ByteTable& table) {
  const Table held = LoadTable(table);
  for (std::size_t at = 0; at < size; at += 64) {
    const __mmask64 here = FirstBytes(size - at);
    const __m512i values = _mm512_maskz_loadu_epi8(here, bytes + at);
    _mm512_mask_storeu_epi8(bytes + at, here, Lookup(held, values));
  }
}

HR_TARGET void MapChannelsAvx512(std::uint8_t* data, std::size_t pixels, std::size_t pixel_stride,
                                 const std::array<ByteTable, 3>& tables) {
  const Table held[3] = {LoadTable(tables[0]), LoadTable(tables[1]), LoadTable(tables[2])};
  const bool packed = pixel_stride == 3;
  // Positions of the channels among 64 bytes.
  __mmask64 first = packed ? 0x9249249249249249 : 0x1111111111111111;
  __mmask64 second = first << 1, third = first << 2;
  const std::size_t size = pixels * pixel_stride;
  for (std::size_t at = 0; at < size; at += 64) {
    const __mmask64 here = FirstBytes(size - at);
    const __m512i values = _mm512_maskz_loadu_epi8(here, data + at);
    __m512i mapped = Lookup(held[0], values);
    mapped = _mm512_mask_mov_epi8(mapped, second, Lookup(held[1], values));
    mapped = _mm512_mask_mov_epi8(mapped, third, Lookup(held[2], values));
    _mm512_mask_storeu_epi8(data + at, here, mapped);
    if (packed) {  // the next 64 bytes start with the second channel of a pixel
      const __mmask64 begin = first;
      first = third;
      third = second;
      second = begin;
    }
  }
}

}  // namespace headrace::ops
#endif
