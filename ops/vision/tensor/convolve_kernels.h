#pragma once

#include <cstddef>
#include <cstdint>

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
  std::uint8_t* out = nullptr;
  std::size_t out_stride = 0;  // bytes
};

// Convolves a band, for one instruction set. All give the same bits.
using ConvolveKernel = void (*)(const ConvolveBand& band);

void ConvolveScalar(const ConvolveBand& band);
#if defined(__x86_64__)
void ConvolveAvx2(const ConvolveBand& band);  // with FMA
void ConvolveAvx512(const ConvolveBand& band);
#endif

}  // namespace headrace::ops
