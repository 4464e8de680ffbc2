#include "ops/vision/opencv/opencv_resize.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "ops/vision/opencv/store_rgb.h"

#define HR_TARGET __attribute__((target("avx2,fma")))

namespace headrace::images {
namespace {

constexpr int kOne = 2048;  // the weights' unit, OpenCV's INTER_RESIZE_COEF_SCALE

// Source samples per result, rounded as OpenCV rounds: through the inverse.
double ScaleOf(std::ptrdiff_t in, std::ptrdiff_t out) {
  return 1.0 / (static_cast<double>(out) / static_cast<double>(in));
}

bool IsWhole(double scale) { return std::abs(scale - std::rint(scale)) < DBL_EPSILON; }

// A row that 8 bytes may be read from at each pixel. The last row ends where memory may end.
class ReadableRows {
 public:
  explicit ReadableRows(const Pixels& in) : in_(in), last_(3 * in.width + 8) {
    const auto bytes = static_cast<std::size_t>(3 * in.width);
    std::memcpy(last_.data(), in.data + (in.height - 1) * in.stride, bytes);
  }
  [[nodiscard]] const std::uint8_t* Row(std::ptrdiff_t row) const {
    return row + 1 == in_.height ? last_.data() : in_.data + row * in_.stride;
  }

 private:
  const Pixels in_;
  std::vector<std::uint8_t> last_;
};

// ---- Linear ----

struct Tap {
  std::ptrdiff_t at;  // the first of two samples; may be -1 on the vertical axis
  std::int16_t first, second;
};

std::int16_t Weight(float weight) {
  return static_cast<std::int16_t>(std::lrint(weight * static_cast<float>(kOne)));
}

Tap TapOf(std::ptrdiff_t result, double scale) {
  float part = static_cast<float>((static_cast<double>(result) + 0.5) * scale - 0.5);
  const float at = std::floor(part);
  part -= at;
  return {static_cast<std::ptrdiff_t>(at), Weight(1.0F - part), Weight(part)};
}

// What the horizontal pass needs for each result, padded to groups of four.
struct Columns {
  std::vector<std::int32_t> bytes;                   // where its first pixel begins
  std::vector<std::array<std::int16_t, 8>> weights;  // both weights, four times
};

Columns ColumnsOf(std::ptrdiff_t in, std::ptrdiff_t out) {
  const auto padded = static_cast<std::size_t>((out + 7) / 8 * 8);
  Columns columns{std::vector<std::int32_t>(padded),
                  std::vector<std::array<std::int16_t, 8>>(padded)};
  const double scale = ScaleOf(in, out);
  for (std::ptrdiff_t x = 0; x < out; ++x) {
    Tap tap = TapOf(x, scale);
    if (tap.at < 0) tap = {0, kOne, 0};
    if (tap.at >= in - 1) tap = {in - 1, kOne, 0};
    columns.bytes[x] = static_cast<std::int32_t>(3 * tap.at);
    for (int i = 0; i < 8; i += 2) {
      columns.weights[x][i] = tap.first;
      columns.weights[x][i + 1] = tap.second;
    }
  }
  return columns;
}

// Two results: four 32-bit sums each, of which the last one means nothing.
HR_TARGET inline __m256i Sums(const std::uint8_t* row, const Columns& columns, std::size_t x) {
  const __m128i bytes = _mm_unpacklo_epi64(
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + columns.bytes[x])),
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + columns.bytes[x + 1])));
  const __m256i pairs = _mm256_setr_epi8(                    //
      0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1,  //
      0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1);
  const __m256i words = _mm256_shuffle_epi8(_mm256_cvtepu8_epi16(bytes), pairs);
  const auto* weights = reinterpret_cast<const __m256i*>(&columns.weights[x]);
  return _mm256_srai_epi32(_mm256_madd_epi16(words, _mm256_loadu_si256(weights)), 4);
}

HR_TARGET void Horizontal(const std::uint8_t* row, const Columns& columns,
                          std::vector<std::int16_t>& out) {
  for (std::size_t x = 0; x < columns.bytes.size(); x += 4) {
    const __m256i four = _mm256_packs_epi32(Sums(row, columns, x), Sums(row, columns, x + 2));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&out[4 * x]),
                        _mm256_permute4x64_epi64(four, 0xD8));
  }
}

// Four results of 16 bits.
HR_TARGET inline __m256i Mixed(const std::int16_t* upper, const std::int16_t* lower, __m256i first,
                               __m256i second) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(upper));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lower));
  const __m256i sum = _mm256_add_epi16(_mm256_mulhi_epi16(a, first), _mm256_mulhi_epi16(b, second));
  return _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(2)), 2);
}

HR_TARGET void Vertical(const std::vector<std::int16_t>& upper,
                        const std::vector<std::int16_t>& lower, const Tap& tap, RgbRow out) {
  const __m256i first = _mm256_set1_epi16(tap.first);
  const __m256i second = _mm256_set1_epi16(tap.second);
  for (std::size_t x = 0; x < upper.size(); x += 32) {
    const __m256i mixed = _mm256_packus_epi16(Mixed(&upper[x], &lower[x], first, second),
                                              Mixed(&upper[x + 16], &lower[x + 16], first, second));
    out.Store8(_mm256_permute4x64_epi64(mixed, 0xD8));
  }
}

// ---- Area ----

// A part of a source sample in the mean that is result `result`.
struct Part {
  std::ptrdiff_t result, at;
  float weight;
};

std::vector<Part> PartsOf(std::ptrdiff_t in, std::ptrdiff_t out) {
  std::vector<Part> parts;
  const double scale = ScaleOf(in, out);
  for (std::ptrdiff_t i = 0; i < out; ++i) {
    const double begin = static_cast<double>(i) * scale;
    const double end = begin + scale;
    const double width = std::min(scale, static_cast<double>(in) - begin);
    const auto to = std::min(static_cast<std::ptrdiff_t>(std::floor(end)), in - 1);
    const auto from = std::min(static_cast<std::ptrdiff_t>(std::ceil(begin)), to);
    const double before = static_cast<double>(from) - begin;
    if (before > 1e-3) parts.push_back({i, from - 1, static_cast<float>(before / width)});
    for (auto at = from; at < to; ++at) parts.push_back({i, at, static_cast<float>(1.0 / width)});
    const double after = end - static_cast<double>(to);
    if (after > 1e-3) {
      parts.push_back({i, to, static_cast<float>(std::min(std::min(after, 1.0), width) / width)});
    }
  }
  return parts;
}

std::int32_t FourBytes(const std::uint8_t* at) {
  std::int32_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

// The means along two rows: four floats a result, of which the last one means nothing.
HR_TARGET void TwoRows(const std::uint8_t* first, const std::uint8_t* second,
                       const std::vector<Part>& parts, float* first_out, float* second_out) {
  __m256 sum = _mm256_setzero_ps();
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Part& part = parts[k];
    const __m128i bytes = _mm_insert_epi32(_mm_cvtsi32_si128(FourBytes(first + 3 * part.at)),
                                           FourBytes(second + 3 * part.at), 1);
    const __m256 values = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    sum = _mm256_add_ps(sum, _mm256_mul_ps(values, _mm256_set1_ps(part.weight)));
    if (k + 1 < parts.size() && parts[k + 1].result == part.result) continue;
    _mm_storeu_ps(first_out + 4 * part.result, _mm256_castps256_ps128(sum));
    _mm_storeu_ps(second_out + 4 * part.result, _mm256_extractf128_ps(sum, 1));
    sum = _mm256_setzero_ps();
  }
}

HR_TARGET void AddRow(const std::vector<float>& row, float weight, std::vector<float>& sums) {
  const __m256 factor = _mm256_set1_ps(weight);
  for (std::size_t i = 0; i < row.size(); i += 8) {
    const __m256 part = _mm256_mul_ps(_mm256_loadu_ps(&row[i]), factor);
    _mm256_storeu_ps(&sums[i], _mm256_add_ps(_mm256_loadu_ps(&sums[i]), part));
  }
}

HR_TARGET void Emit(std::vector<float>& sums, RgbRow out) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (std::size_t i = 0; i < sums.size(); i += 32) {
    __m256i four[4];
    for (int j = 0; j < 4; ++j) four[j] = _mm256_cvtps_epi32(_mm256_loadu_ps(&sums[i + 8 * j]));
    const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(four[0], four[1]),
                                               _mm256_packs_epi32(four[2], four[3]));
    out.Store8(_mm256_permutevar8x32_epi32(packed, order));
  }
  std::ranges::fill(sums, 0.0F);
}

}  // namespace

bool ResizeLinear(const Pixels& in, std::ptrdiff_t height, std::ptrdiff_t width,
                  std::uint8_t* out) {
  const double scale = ScaleOf(in.height, height);
  if (in.width < 2 || (in.height == height && in.width == width)) return false;
  if (IsWhole(scale) && IsWhole(ScaleOf(in.width, width))) return false;
  const ReadableRows rows(in);
  const Columns columns = ColumnsOf(in.width, width);
  const std::size_t words = 4 * columns.bytes.size();
  struct Kept {
    std::ptrdiff_t row = -1;
    std::vector<std::int16_t> words;
  };
  Kept upper{-1, std::vector<std::int16_t>(words)};
  Kept lower{-1, std::vector<std::int16_t>(words)};
  const auto make = [&](Kept& kept, std::ptrdiff_t row) {
    if (kept.row == row) return;
    Horizontal(rows.Row(row), columns, kept.words);
    kept.row = row;
  };
  for (std::ptrdiff_t y = 0; y < height; ++y) {
    const Tap tap = TapOf(y, scale);
    const auto first = std::clamp<std::ptrdiff_t>(tap.at, 0, in.height - 1);
    const auto second = std::clamp<std::ptrdiff_t>(tap.at + 1, 0, in.height - 1);
    if (lower.row == first || upper.row == second) std::swap(upper, lower);
    make(upper, first);
    if (second != first) make(lower, second);
    Vertical(upper.words, second == first ? upper.words : lower.words, tap,
             RgbRow(out, y, height, width));
  }
  return true;
}

bool ResizeArea(const Pixels& in, std::ptrdiff_t height, std::ptrdiff_t width, std::uint8_t* out) {
  const double across = ScaleOf(in.width, width);
  const double down = ScaleOf(in.height, height);
  if (in.width < 2 || across < 1 || down < 1 || (IsWhole(across) && IsWhole(down))) return false;
  const ReadableRows rows(in);
  const std::vector<Part> columns = PartsOf(in.width, width);
  const std::vector<Part> lines = PartsOf(in.height, height);
  const auto floats = static_cast<std::size_t>((width + 7) / 8 * 8 * 4);
  std::array<std::vector<float>, 2> made{std::vector<float>(floats), std::vector<float>(floats)};
  std::vector<float> sums(floats);
  std::ptrdiff_t from = -2;  // `made` holds the means along this row and the next one
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const Part& line = lines[k];
    if (line.at < from || line.at >= from + 2) {
      from = line.at;
      const auto next = std::min(from + 1, in.height - 1);
      TwoRows(rows.Row(from), rows.Row(next), columns, made[0].data(), made[1].data());
    }
    AddRow(made[static_cast<std::size_t>(line.at - from)], line.weight, sums);
    const bool ends = k + 1 == lines.size() || lines[k + 1].result != line.result;
    if (ends) Emit(sums, RgbRow(out, line.result, height, width));
  }
  return true;
}

}  // namespace headrace::images
