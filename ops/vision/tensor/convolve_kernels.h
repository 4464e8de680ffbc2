#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace headrace::ops {

// Output rows of a convolution, and the numbers that they are sums of. Channels lie side by side.
struct ConvolveBand {
  // Rows of zeros before and after the weights. They let a block of output rows share its input.
  static constexpr int kSpareRows = 3;
  // Numbers past the last row of the input that may be read. They must be finite.
  static constexpr std::size_t kSlack = 64;

  const float* in = nullptr;       // rows + weight_rows - 1 rows with borders
  std::size_t in_stride = 0;       // numbers
  const float* weights = nullptr;  // kSpareRows + weight_rows + kSpareRows rows
  int weight_rows = 0;
  int weight_columns = 0;
  std::size_t channels = 0;
  std::size_t rows = 0;    // of the output
  std::size_t values = 0;  // of an output row
  // Where the sums go: rounded to bytes, or as they are.
  std::uint8_t* out = nullptr;
  float* out_floats = nullptr;
  std::size_t out_stride = 0;  // numbers

  template <typename T>
  [[nodiscard]] T* OutOf(std::size_t row) const {
    if constexpr (std::is_same_v<T, float>) {
      return out_floats + row * out_stride;
    } else {
      return out + row * out_stride;
    }
  }
};

// Convolves a band, for one instruction set. All give the same bits.
using ConvolveKernel = void (*)(const ConvolveBand& band);

void ConvolveScalar(const ConvolveBand& band);
void ConvolveScalarFloats(const ConvolveBand& band);
#if defined(__x86_64__)
void ConvolveAvx2(const ConvolveBand& band);  // with FMA
void ConvolveAvx512(const ConvolveBand& band);
void ConvolveAvx2Floats(const ConvolveBand& band);
void ConvolveAvx512Floats(const ConvolveBand& band);
#endif

}  // namespace headrace::ops
