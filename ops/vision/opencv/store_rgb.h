#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headrace::images {

// Writes a row of a picture without gaps, eight pixels at a time, from the left. May write over what
// follows in the picture, so rows come from the top. One thread.
class RgbRow {
 public:
  RgbRow(std::uint8_t* picture, std::ptrdiff_t row, std::ptrdiff_t height, std::ptrdiff_t width)
      : at_(picture + 3 * row * width),
        row_end_(at_ + 3 * width),
        end_(picture + 3 * height * width) {}

  // `pixels`: four bytes each, of which the last one is left out. What is past the row is dropped.
  __attribute__((target("avx2"))) void Store8(__m256i pixels) {
    const __m256i three = _mm256_setr_epi8(                      //
        0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,  //
        0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i packed = _mm256_shuffle_epi8(pixels, three);
    const __m128i low = _mm256_castsi256_si128(packed);
    const __m128i high = _mm256_extracti128_si256(packed, 1);
    if (end_ - at_ >= 28) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at_), low);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at_ + 12), high);
    } else if (at_ < row_end_) {
      std::uint8_t bytes[28];
      _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), low);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + 12), high);
      const std::ptrdiff_t left = row_end_ - at_;
      std::memcpy(at_, bytes, static_cast<std::size_t>(left < 24 ? left : 24));
    }
    at_ += 24;
  }

 private:
  std::uint8_t* at_;
  std::uint8_t* row_end_;
  std::uint8_t* end_;
};

}  // namespace headrace::images
