#include "ops/vision/png/png_filter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

namespace headrace::ops {
namespace {

// As the specification says it.
int SpecifiedPaeth(int left, int up, int corner) {
  const int estimate = left + up - corner;
  const int to_left = std::abs(estimate - left), to_up = std::abs(estimate - up),
            to_corner = std::abs(estimate - corner);
  if (to_left <= to_up && to_left <= to_corner) return left;
  return to_up <= to_corner ? up : corner;
}

TEST(PngFilter, PaethOfAllValues) {
  for (int left = 0; left < 256; ++left) {
    for (int up = 0; up < 256; ++up) {
      for (int corner = 0; corner < 256; ++corner) {
        ASSERT_EQ(Paeth(left, up, corner), SpecifiedPaeth(left, up, corner))
            << left << ' ' << up << ' ' << corner;
      }
    }
  }
}

std::uint8_t Predicted(int filter, int left, int up, int corner) {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return static_cast<std::uint8_t>(left);
    case 2:
      return static_cast<std::uint8_t>(up);
    case 3:
      return static_cast<std::uint8_t>((left + up) / 2);
    default:
      return static_cast<std::uint8_t>(SpecifiedPaeth(left, up, corner));
  }
}

TEST(PngFilter, TakesEveryFilterBackForEveryKindOfPixel) {
  constexpr std::size_t kSlack = 8;
  const std::vector<std::pair<std::size_t, std::size_t>> kinds = {{1, 1}, {2, 2}, {3, 3}, {3, 4},
                                                                  {4, 4}, {6, 6}, {8, 8}};
  std::mt19937 random(7);
  for (const auto& [unit, step] : kinds) {
    for (std::uint8_t filter = 0; filter < kPngFilters; ++filter) {
      for (std::size_t pixels = 0; pixels < 40; ++pixels) {
        std::vector<std::uint8_t> in(pixels * unit + kSlack), above(pixels * step + kSlack),
            out(above.size());
        for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(random());
        // Few values: ties of Paeth's predictor too.
        for (std::uint8_t& byte : above) byte = static_cast<std::uint8_t>(random() % 5 * 60);
        Unfilter(filter, in.data(), above.data(), pixels, unit, step, out.data());
        std::vector<int> left(unit), corner(unit);
        for (std::size_t x = 0; x < pixels; ++x) {
          for (std::size_t i = 0; i < unit; ++i) {
            const int up = above[x * step + i];
            const auto expected = static_cast<std::uint8_t>(
                in[x * unit + i] + Predicted(filter, left[i], up, corner[i]));
            ASSERT_EQ(out[x * step + i], expected)
                << "filter " << int{filter} << ", unit " << unit << ", step " << step;
            left[i] = expected;
            corner[i] = up;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace headrace::ops
