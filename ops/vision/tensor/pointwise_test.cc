#include "ops/vision/tensor/pointwise.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

struct Picture : ImageMemory {
  Picture(std::int64_t height, std::int64_t width, int channels, int pixel_bytes)
      : ImageMemory(height, width, channels, pixel_bytes, /*row_slack=*/5) {
    std::mt19937 random(7);
    for (std::size_t i = 0; i < image.row_stride * static_cast<std::size_t>(height); ++i) {
      pixels[i] = static_cast<std::uint8_t>(random());
    }
  }
  [[nodiscard]] std::uint8_t At(std::int64_t c, std::int64_t y, std::int64_t x, Flip flip) const {
    if (flip.vertical) y = image.spec.height - 1 - y;
    if (flip.horizontal) x = image.spec.width - 1 - x;
    return image.data[y * image.row_stride + x * image.pixel_stride + c];
  }
};

template <typename T>
class PointwiseTable : public testing::Test {};
using Elements = testing::Types<std::uint8_t, std::uint16_t, float, double>;
TYPED_TEST_SUITE(PointwiseTable, Elements);

constexpr Flip kFlips[] = {{false, false}, {true, false}, {false, true}, {true, true}};
constexpr std::int64_t kWidths[] = {1,  2,  15,  16,  17,   31,   33,  63,
                                    64, 65, 100, 224, 1023, 1025, 2100};

TYPED_TEST(PointwiseTable, EveryValueComesFromTheTable) {
  using T = TypeParam;
  for (const auto& [channels, pixel_bytes] : {std::pair{1, 1}, {3, 3}, {3, 4}, {1, 4}}) {
    std::vector<T> table(static_cast<std::size_t>(channels) * 256);
    std::mt19937 random(11);
    for (T& element : table) element = static_cast<T>(random());
    for (const std::int64_t width : kWidths) {
      const Picture picture(3, width, channels, pixel_bytes);
      for (const Flip flip : kFlips) {
        std::vector<T> expected;
        for (int c = 0; c < channels; ++c) {
          for (std::int64_t y = 0; y < 3; ++y) {
            for (std::int64_t x = 0; x < width; ++x) {
              expected.push_back(table[c * 256 + picture.At(c, y, x, flip)]);
            }
          }
        }
        for (const PointwiseLevel level : PointwiseLevels()) {
          std::vector<T> out(expected.size() + 1, T{77});
          TableToChw<T>(picture.image, flip, table, std::span(out).first(expected.size()), level);
          ASSERT_EQ(out.back(), T{77}) << "wrote behind the end";
          out.pop_back();
          ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(T)), 0)
              << "level " << static_cast<int>(level) << " width " << width;
        }
      }
    }
  }
}

TEST(Pointwise, ResultsThatGoAroundTheCaches) {
  std::vector<float> table(3 * 256);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i) * 1.5F;
  for (const std::int64_t width : {224, 225}) {
    const Picture picture(200, width, 3, 4);
    const auto size = static_cast<std::size_t>(3 * 200 * width);
    ScratchBuffer memory;
    for (const PointwiseLevel level : PointwiseLevels()) {
      for (const std::size_t offset : {0, 4}) {
        auto* first = reinterpret_cast<float*>(memory.Ensure(size * 4 + 16) + offset);
        TableToChw<float>(picture.image, Flip{true, true}, table, {first, size}, level);
        for (std::int64_t i = 0; i < 3 * 200 * width; ++i) {
          const std::int64_t c = i / (200 * width), y = i / width % 200, x = i % width;
          ASSERT_EQ(first[i], table[c * 256 + picture.At(c, y, x, {true, true})]);
        }
      }
    }
  }
}

TEST(Pointwise, Planes) {
  for (const auto& [channels, pixel_bytes] : {std::pair{1, 1}, {3, 3}, {3, 4}}) {
    for (const std::int64_t width : kWidths) {
      const Picture picture(3, width, channels, pixel_bytes);
      for (const Flip flip : kFlips) {
        for (const PointwiseLevel level : PointwiseLevels()) {
          std::vector<std::uint8_t> out(static_cast<std::size_t>(channels * 3 * width));
          ToChw(picture.image, flip, out, level);
          std::size_t i = 0;
          for (int c = 0; c < channels; ++c) {
            for (std::int64_t y = 0; y < 3; ++y) {
              for (std::int64_t x = 0; x < width; ++x, ++i) {
                ASSERT_EQ(out[i], picture.At(c, y, x, flip));
              }
            }
          }
        }
      }
    }
  }
}

TEST(Pointwise, Packed) {
  for (const auto& [channels, pixel_bytes] : {std::pair{1, 1}, {3, 3}, {3, 4}}) {
    const Picture picture(3, 50, channels, pixel_bytes);
    for (const Flip flip : kFlips) {
      std::vector<std::uint8_t> out(static_cast<std::size_t>(channels * 3 * 50));
      ToPacked(picture.image, flip, out);
      std::size_t i = 0;
      for (std::int64_t y = 0; y < 3; ++y) {
        for (std::int64_t x = 0; x < 50; ++x) {
          for (int c = 0; c < channels; ++c, ++i) ASSERT_EQ(out[i], picture.At(c, y, x, flip));
        }
      }
    }
  }
}

}  // namespace
}  // namespace headrace::ops
