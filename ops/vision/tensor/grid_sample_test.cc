#include "ops/vision/tensor/grid_sample.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/vision/testing/test_util.h"

// tests/python/ops has more comparisons with torchvision.
namespace headrace::ops {
namespace {

using ::testing::ElementsAre;
using Fill = std::optional<std::array<float, 3>>;
constexpr auto kFused = MatrixProducts::kFusedWhereLarge;
constexpr auto kNever = MatrixProducts::kNeverFused;

AffineArgs Of(Interpolation interpolation, const Fill& fill, MatrixProducts products) {
  AffineArgs args;
  args.tensor = true;
  args.interpolation = interpolation;
  args.tensor_fill = fill;
  args.products = products;
  return args;
}

std::vector<std::uint8_t> Transformed(const AffineMatrix& matrix, Interpolation interpolation,
                                      const Fill& fill = std::nullopt, int api = 1) {
  ImageMemory image(1, 4, 1, 1);
  for (std::size_t i = 0; i < 4; ++i) image.pixels[i] = static_cast<std::uint8_t>(10 * i + 10);
  std::vector<std::uint8_t> out(4);
  TensorAffine(image.image, matrix, Of(interpolation, fill, kFused), api, out.data());
  return out;
}

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
  // v1 counts what is outside once more: (40 / 2) / 2 + 100 / 2.
  EXPECT_THAT(Transformed(kHalfLeft, Interpolation::kBilinear, Fill{{100, 0, 0}}, 1),
              ElementsAre(15, 25, 35, 60));
  EXPECT_THAT(Transformed(kHalfLeft, Interpolation::kBilinear, Fill{{100, 0, 0}}, 2),
              ElementsAre(15, 25, 35, 60));
}

TEST(TensorAffine, EveryLevelGivesTheSameBits) {
  constexpr AffineMatrix kMatrices[] = {
      kUnmoved, {0.8, 0.6, 1.3, -0.6, 0.8, -2.1}, {1, 0.3, 40, 0, 1, 0}, {0.2, 3, 5e5, 3, 0.2, -7}};
  for (const int channels : {1, 3}) {
    for (const std::int64_t width : {1, 3, 7, 8, 9, 24, 37}) {
      const RandomCanvas from(11, width, channels, channels, 0, 5);
      for (const AffineMatrix& matrix : kMatrices) {
        for (const Interpolation mode : {Interpolation::kNearest, Interpolation::kBilinear}) {
          for (const int api : {1, 2}) {
            for (const Fill& fill : {Fill(), Fill{{0.5F, 1.5F, 254.6F}}}) {
              for (const MatrixProducts products : {kFused, kNever}) {
                const auto made = [&](PointwiseLevel level) {
                  std::vector<std::uint8_t> out(from.image.spec.bytes());
                  TensorAffine(from.image, matrix, Of(mode, fill, products), api, out.data(),
                               level);
                  return out;
                };
                for (const PointwiseLevel level : PointwiseLevels()) {
                  EXPECT_EQ(made(level), made(PointwiseLevel::kScalar));
                }
              }
            }
          }
        }
      }
    }
  }
}

// The two differ in the last digit of a coordinate, which few pixels show.
TEST(TensorAffine, ProductsDifferWhereTheyAreLarge) {
  for (const std::int64_t side : {8, 60}) {  // 6 * 8 * 8 is below 400
    const RandomCanvas from(side, side, 3, 3, 0, 7);
    for (const Interpolation mode : {Interpolation::kNearest, Interpolation::kBilinear}) {
      int differ = 0;
      for (int percent = 1; percent < 200; ++percent) {
        // Scales of whole hundredths: except for rounding, many coordinates are half a pixel.
        const double scale = percent / 100.0;
        const AffineMatrix matrix{scale, 0.3, 0.5, -0.3, scale, -1.5};
        const auto made = [&](MatrixProducts products, PointwiseLevel level) {
          std::vector<std::uint8_t> out(from.image.spec.bytes());
          TensorAffine(from.image, matrix, Of(mode, std::nullopt, products), 1, out.data(), level);
          return out;
        };
        const auto fused = made(kFused, PointwiseLevel::kScalar);
        const auto never = made(kNever, PointwiseLevel::kScalar);
        differ += fused != never;
        for (const PointwiseLevel level : PointwiseLevels()) {
          EXPECT_EQ(made(kFused, level), fused);
          EXPECT_EQ(made(kNever, level), never);
        }
      }
      EXPECT_EQ(differ > 0, side == 60);
    }
  }
}

TEST(TensorTurn, IsCounterClockwise) {
  ImageMemory image(2, 2, 1, 1);
  for (std::size_t i = 0; i < 4; ++i) image.pixels[i] = static_cast<std::uint8_t>(i + 1);
  image.image.held = WholeOf(image.image.spec);
  const auto turned = [&](int turns) {
    std::vector<std::uint8_t> out(4);
    TensorTurn(image.image, turns, out.data());
    return out;
  };
  EXPECT_THAT(turned(0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(turned(1), ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(turned(2), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(turned(3), ElementsAre(3, 1, 4, 2));
}

}  // namespace
}  // namespace headrace::ops
