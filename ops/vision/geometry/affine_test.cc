#include "ops/vision/geometry/affine.h"

#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

using Bytes8 = std::vector<std::uint8_t>;

constexpr AffineMatrix kUnmoved{1, 0, 0, 0, 1, 0};
constexpr Interpolation kModes[] = {Interpolation::kNearest, Interpolation::kBilinear,
                                    Interpolation::kBicubic};

ImageMemory Gray(std::int64_t height, std::int64_t width, const Bytes8& values) {
  ImageMemory made(height, width, 1, 1);
  std::copy(values.begin(), values.end(), made.pixels);
  return made;
}

Bytes8 Transformed(const Image& image, const AffineMatrix& matrix, Interpolation mode,
                   std::array<std::uint8_t, 3> fill = {9, 8, 7}) {
  Bytes8 out(image.spec.bytes());
  TransformAffine(image, matrix, mode, fill, out.data());
  return out;
}

TEST(Affine, WholeStepsMoveWithEveryInterpolation) {
  const ImageMemory image = Gray(2, 3, {10, 20, 30, 40, 50, 60});
  for (const Interpolation mode : kModes) {
    EXPECT_THAT(Transformed(image.image, kUnmoved, mode), ElementsAre(10, 20, 30, 40, 50, 60));
    EXPECT_THAT(Transformed(image.image, {1, 0, -1, 0, 1, 0}, mode),
                ElementsAre(9, 10, 20, 9, 40, 50));
    EXPECT_THAT(Transformed(image.image, {1, 0, 0, 0, 1, 1}, mode),
                ElementsAre(40, 50, 60, 9, 9, 9));
    EXPECT_THAT(Transformed(image.image, {1, 0, 1e300, 0, 1, 0}, mode), Each(9));
    // Half a turn.
    EXPECT_THAT(Transformed(image.image, {-1, 0, 3, 0, -1, 2}, mode),
                ElementsAre(60, 50, 40, 30, 20, 10));
  }
}

TEST(Affine, PixelsOfThreeAndFourBytesGiveTheSame) {
  for (const int bytes : {3, 4}) {
    ImageMemory image(1, 2, 3, bytes, /*row_slack=*/3);
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        image.pixels[i * image.image.pixel_stride + c] = static_cast<std::uint8_t>(10 * i + c);
      }
    }
    for (const Interpolation mode : kModes) {
      EXPECT_THAT(Transformed(image.image, {1, 0, 1, 0, 1, 0}, mode),
                  ElementsAre(10, 11, 12, 9, 8, 7));
    }
  }
}

TEST(Affine, NearestTakesThePixelThatACoordinateFallsInto) {
  const ImageMemory image = Gray(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  // x moves by half a pixel for each row: the middle of row y reads at x + 0.5 + 0.5 (y + 0.5).
  EXPECT_THAT(Transformed(image.image, {1, 0.5, 0, 0, 1, 0}, Interpolation::kNearest, {0, 0, 0}),
              ElementsAre(1, 2, 3, 5, 6, 0, 8, 9, 0));
  // 2^-17 less, and 16.16 fixed point still rounds up to the pixel's edge.
  EXPECT_THAT(Transformed(image.image, {1, 0.5, 0.25 - 0x1p-17, 0, 1, 0}, Interpolation::kNearest,
                          {0, 0, 0}),
              ElementsAre(2, 3, 0, 5, 6, 0, 9, 0, 0));
  // Without a mixture of the axes Pillow computes in double.
  EXPECT_THAT(Transformed(image.image, {1, 0, 0.5 - 0x1p-17, 0, 1, 0}, Interpolation::kNearest),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Affine, BilinearMixesAndCutsOff) {
  const ImageMemory image = Gray(1, 3, {0, 101, 255});
  EXPECT_THAT(Transformed(image.image, {1, 0, 0.5, 0, 1, 0}, Interpolation::kBilinear, {3, 0, 0}),
              ElementsAre(50, 178, 3));  // the last one would be read at x = 3, outside
  EXPECT_THAT(Transformed(image.image, {1, 0, -0.5, 0, 1, 0}, Interpolation::kBilinear),
              ElementsAre(0, 50, 178));  // left of the first pixel's middle it repeats
}

TEST(Affine, BicubicOvershootsWithinTheRange) {
  const ImageMemory image = Gray(1, 4, {0, 0, 255, 255});
  // (-1, 0, 1, 1) at a quarter: p2 = 255, p3 = 0, p4 = -255 + ... by hand: 0.25 of the way.
  EXPECT_THAT(Transformed(image.image, {1, 0, 0.5, 0, 1, 0}, Interpolation::kBicubic, {3, 0, 0}),
              ElementsAre(0, 127, 255, 3));
}

TEST(Affine, LongImagesDoNotFitFixedPoint) {
  constexpr std::int64_t kWidth = 40000;
  ImageMemory image(1, kWidth, 1, 1);
  Bytes8 expected;
  for (std::int64_t x = 0; x < kWidth; ++x) {
    image.pixels[x] = static_cast<std::uint8_t>(x % 251);
    expected.push_back(x + 2 < kWidth ? static_cast<std::uint8_t>((x + 2) % 251) : 9);
  }
  EXPECT_THAT(Transformed(image.image, {1, 4, 0, 0, 1, 0}, Interpolation::kNearest),
              ElementsAreArray(expected));
}

TEST(Affine, OnePixel) {
  const ImageMemory image = Gray(1, 1, {77});
  for (const Interpolation mode : kModes) {
    EXPECT_THAT(Transformed(image.image, {1, 0.9, 0, 0.9, 1, 0}, mode), ElementsAre(77));
    EXPECT_THAT(Transformed(image.image, {1, 1.1, 0, 0, 1, 0}, mode), ElementsAre(9));
  }
}

// Shears and translations leave one coordinate whole, where some sums are passed over.
TEST(Affine, EveryLevelGivesTheSame) {
  std::mt19937 random(20261125);
  const auto number = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    ImageMemory image(1 + static_cast<std::int64_t>(random() % 30),
                      1 + static_cast<std::int64_t>(random() % 30), 3,
                      3 + static_cast<int>(random() % 2));
    const std::size_t bytes =
        image.image.row_stride * static_cast<std::size_t>(image.image.spec.height);
    for (std::size_t i = 0; i < bytes; ++i) image.pixels[i] = static_cast<std::uint8_t>(random());
    const AffineMatrix matrices[] = {{1, number(-1, 1), 0, 0, 1, 0},
                                     {1, 0, 0, number(-1, 1), 1, 0},
                                     {1, 0, number(-9, 9), 0, 1, 0},
                                     {1, 0, 0, 0, 1, number(-9, 9)},
                                     {1, 0, 2, 0, 1, -3},
                                     {number(-2, 2), number(-2, 2), number(-5, 20), number(-2, 2),
                                      number(-2, 2), number(-5, 20)}};
    for (const AffineMatrix& matrix : matrices) {
      for (const Interpolation mode : kModes) {
        Bytes8 scalar(image.image.spec.bytes());
        TransformAffine(image.image, matrix, mode, {1, 2, 3}, scalar.data(),
                        PointwiseLevel::kScalar);
        EXPECT_EQ(Transformed(image.image, matrix, mode, {1, 2, 3}), scalar);
      }
    }
  }
}

}  // namespace
}  // namespace headrace::ops
