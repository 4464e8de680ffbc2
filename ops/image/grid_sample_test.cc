#include "ops/image/grid_sample.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/image/test_util.h"

// tests/python/ops compares with torchvision at length.
namespace headrace::ops {
namespace {

using ::testing::ElementsAre;
using Fill = std::optional<std::array<float, 3>>;

std::vector<std::uint8_t> Transformed(const AffineMatrix& matrix, Interpolation interpolation,
                                      const Fill& fill = std::nullopt, int api = 1) {
  ImageMemory image(1, 4, 1, 1);
  for (std::size_t i = 0; i < 4; ++i) image.pixels[i] = static_cast<std::uint8_t>(10 * i + 10);
  std::vector<std::uint8_t> out(4);
  TensorAffine(image.image, matrix, interpolation, fill, api, out.data());
  return out;
}

constexpr AffineMatrix kUnmoved{1, 0, 0, 0, 1, 0};
constexpr AffineMatrix kOneLeft{1, 0, 1, 0, 1, 0};
constexpr AffineMatrix kHalfLeft{1, 0, 0.5, 0, 1, 0};

TEST(TensorAffine, OutsideIsBlackOrFilled) {
  for (const Interpolation mode : {Interpolation::kNearest, Interpolation::kBilinear}) {
    EXPECT_THAT(Transformed(kUnmoved, mode), ElementsAre(10, 20, 30, 40));
    EXPECT_THAT(Transformed(kOneLeft, mode), ElementsAre(20, 30, 40, 0));
    for (const int api : {1, 2}) {
      const Fill fill{{200.5F, 0, 0}};
      EXPECT_THAT(Transformed(kOneLeft, mode, fill, api), ElementsAre(20, 30, 40, 200));
    }
  }
}

TEST(TensorAffine, NearestRoundsHalfToEven) {
  EXPECT_THAT(Transformed(kHalfLeft, Interpolation::kNearest), ElementsAre(10, 30, 30, 0));
}

TEST(TensorAffine, HalfAPixelFadesByHalf) {
  EXPECT_THAT(Transformed(kHalfLeft, Interpolation::kBilinear), ElementsAre(15, 25, 35, 20));
  // v1 takes what is outside once more: (40 / 2) / 2 + 100 / 2.
  EXPECT_THAT(Transformed(kHalfLeft, Interpolation::kBilinear, Fill{{100, 0, 0}}, 1),
              ElementsAre(15, 25, 35, 60));
  EXPECT_THAT(Transformed(kHalfLeft, Interpolation::kBilinear, Fill{{100, 0, 0}}, 2),
              ElementsAre(15, 25, 35, 60));
}

}  // namespace
}  // namespace headrace::ops
