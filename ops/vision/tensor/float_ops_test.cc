#include "ops/vision/tensor/float_ops.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/test_draws.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/vision/tensor/convolve.h"
#include "ops/vision/tensor/float_sum.h"
#include "ops/vision/testing/test_util.h"

// tests/python/ops compares with torchvision.
namespace headrace::ops {
namespace {

using test_draws::Between;
using test_draws::OneOf;
using test_draws::Random;
using test_draws::SeedOr;
using ::testing::ElementsAre;
using ::testing::FloatEq;

// Pixels in memory of their own.
struct FloatMemory {
  ScratchBuffer memory;
  FloatPixels pixels;

  FloatMemory(std::int64_t height, std::int64_t width, int channels,
              const std::function<float()>& make)
      : pixels(MakeFloats({height, width, channels, DType::kF32, Layout::kHwc}, memory)) {
    for (float& value : pixels.floats) value = make();
  }
  [[nodiscard]] Image image() const {
    Image shown{nullptr, 0, 0, pixels.spec, WholeOf(pixels.spec)};
    pixels.Show(&shown);
    return shown;
  }
};

float DrawnElement(Random& random) {
  switch (Between(random, 0, 5)) {
    case 0:
      return OneOf<float>(random, {0.0F, -0.0F, 1.0F, 0.5F, 1e-45F, -3e38F, 3e38F});
    case 1:
      return static_cast<float>(Between(random, 0, 255)) / 255.0F;
    default:
      return static_cast<float>(Between(random, -1'000'000, 2'000'000)) / 999'983.0F;
  }
}

// The bits of the elements that are channels.
std::vector<std::uint32_t> BitsOf(const FloatPixels& image) {
  std::vector<std::uint32_t> bits;
  for (std::size_t i = 0; i < image.floats.size(); ++i) {
    if (image.step() == 1 || i % 4 != 3) {
      bits.push_back(std::bit_cast<std::uint32_t>(image.floats[i]));
    }
  }
  return bits;
}

using FloatChange = std::function<Status(const FloatPixels&, OpContext&, PointwiseLevel)>;

TEST(FloatOps, EveryLevelHasTheSameBits) {
  for (unsigned round = 0; round < 400; ++round) {
    Random random(SeedOr(41000) + round);
    SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(SeedOr(41000) + round));
    const int api = static_cast<int>(Between(random, 1, 2));
    const double factor = static_cast<double>(Between(random, 0, 3000)) / 999.0;
    const auto hue = static_cast<float>(Between(random, -500, 500)) / 1000.0F;
    const std::vector<FloatChange> changes = {
        [&](const FloatPixels& image, OpContext&, PointwiseLevel level) {
          FloatBrightness(image, factor, api, level);
          return Status::Ok();
        },
        [&](const FloatPixels& image, OpContext&, PointwiseLevel level) {
          return FloatSaturation(image, factor, api, level);
        },
        [&](const FloatPixels& image, OpContext& context, PointwiseLevel level) {
          return FloatContrast(image, factor, api, context.scratch(0), level);
        },
        [&](const FloatPixels& image, OpContext&, PointwiseLevel level) {
          return FloatHue(image, hue, api, level);
        },
        [&](const FloatPixels& image, OpContext&, PointwiseLevel level) {
          FloatInvert(image, level);
          FloatSolarize(image, 0.4, level);
          FloatPosterize(image, 3, level);
          return Status::Ok();
        },
        [&](const FloatPixels& image, OpContext&, PointwiseLevel level) {
          return FloatAutoContrast(image, api, level);
        },
        [&](const FloatPixels& image, OpContext& context, PointwiseLevel level) {
          return FloatSharpness(image, factor, api, context, level);
        }};
    const FloatChange& change = OneOf(random, changes);
    const FloatMemory first(Between(random, 1, 20), Between(random, 1, 40),
                            OneOf<int>(random, {1, 3}), [&] { return DrawnElement(random); });
    std::vector<std::vector<std::uint32_t>> made;
    std::vector<Code> codes;
    for (const PointwiseLevel level : PointwiseLevels()) {
      ScratchBuffer memory;
      OpContext context;
      const FloatPixels copy = CopyFloats(first.image(), memory);
      codes.push_back(change(copy, context, level).code());
      if (codes.back() == Code::kOk) made.push_back(BitsOf(copy));
    }
    EXPECT_THAT(codes, ::testing::Each(codes.front()));
    EXPECT_THAT(made, ::testing::Each(made.empty() ? std::vector<std::uint32_t>{} : made.front()));
  }
}

TEST(FloatOps, GridsAndBlursOfEveryLevelHaveTheSameBits) {
  for (unsigned round = 0; round < 200; ++round) {
    Random random(SeedOr(41500) + round);
    SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(SeedOr(41500) + round));
    const FloatMemory first(Between(random, 5, 30), Between(random, 5, 40),
                            OneOf<int>(random, {1, 3}), [&] { return DrawnElement(random); });
    const auto number = [&] { return static_cast<double>(Between(random, -900, 900)) / 400.0; };
    const AffineMatrix matrix{number(), number(), 3 * number(), number(), number(), number()};
    AffineArgs args;
    args.tensor = true;
    args.interpolation =
        OneOf<Interpolation>(random, {Interpolation::kNearest, Interpolation::kBilinear});
    args.products = OneOf<MatrixProducts>(
        random, {MatrixProducts::kFusedWhereLarge, MatrixProducts::kNeverFused});
    if (Between(random, 0, 1) == 1) args.tensor_fill = {{0.3F, -1.0F, 0.5F}};
    const int api = static_cast<int>(Between(random, 1, 2));
    const std::vector<float> weights{0.25F, 0.5F, 0.25F};
    std::vector<std::vector<std::uint32_t>> affine, perspective, blurred;
    for (const PointwiseLevel level : PointwiseLevels()) {
      ScratchBuffer memory;
      OpContext context;
      const FloatPixels out = MakeFloats(first.pixels.spec, memory);
      ASSERT_TRUE(FloatAffine(first.image(), matrix, args, api, out, level).ok());
      affine.push_back(BitsOf(out));
      const PerspectiveCoefficients numbers{0.9F, 0.2F, 1, -0.1F, 1.1F, 0.5F, 0.01F, 0.02F};
      ASSERT_TRUE(FloatPerspective(first.image(), numbers, args, api, out, level).ok());
      perspective.push_back(BitsOf(out));
      ASSERT_TRUE(ConvolveFloats(first.image(), {weights, weights}, WholeOf(out.spec), context,
                                 out.floats.data(), level)
                      .ok());
      blurred.push_back(BitsOf(out));
    }
    for (const auto& made : {affine, perspective, blurred}) {
      EXPECT_THAT(made, ::testing::Each(made.front()));
    }
  }
}

TEST(FloatOps, BlendsAreCutToZeroAndOne) {
  const std::vector<float> values{-0.5F, 0.25F, 0.75F};
  std::size_t next = 0;
  const FloatMemory image(1, 3, 1, [&] { return values[next++]; });
  FloatBrightness(image.pixels, 2, 2);
  EXPECT_THAT(image.pixels.floats, ElementsAre(0, 0.5F, 1));
}

TEST(FloatOps, ElementsThatAreNoNumbersAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float endless = std::numeric_limits<float>::infinity();
  OpContext context;
  for (const PointwiseLevel level : PointwiseLevels()) {
    const FloatMemory bad(3, 3, 3, [&] { return nan; });
    EXPECT_EQ(FloatSaturation(bad.pixels, 0.5, 1, level).code(), Code::kUnsupported);
    EXPECT_EQ(FloatContrast(bad.pixels, 0.5, 1, context.scratch(2), level).code(),
              Code::kUnsupported);
    const FloatMemory large(3, 3, 3, [&] { return endless; });
    EXPECT_EQ(FloatHue(large.pixels, 0.1F, 1, level).code(), Code::kUnsupported);
    EXPECT_EQ(FloatAutoContrast(large.pixels, 1, level).code(), Code::kUnsupported);
    EXPECT_EQ(FloatSharpness(large.pixels, 2, 1, context, level).code(), Code::kUnsupported);
  }
}

// The fourth float of a pixel is no channel: nobody may look at it.
TEST(FloatOps, WhatIsNoChannelDoesNotMatter) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::size_t next = 0;
  const auto make = [&] { return next++ % 4 == 3 ? nan : 0.25F; };
  for (const PointwiseLevel level : PointwiseLevels()) {
    next = 0;
    const FloatMemory image(3, 5, 3, make);
    EXPECT_TRUE(AreFinite(image.image(), level));
    EXPECT_TRUE(FloatHue(image.pixels, 0.1F, 2, level).ok());
    EXPECT_TRUE(FloatSaturation(image.pixels, 0.1, 2, level).ok());
    EXPECT_TRUE(FloatAutoContrast(image.pixels, 2, level).ok());
  }
}

// 2^24 + 1 has no float: added up one by one, the ones after it are lost.
TEST(FloatSum, SmallNumbersAreAddedUpBeforeLargeOnes) {
  std::vector<float> numbers(4096, 1.0F);
  numbers[0] = 16'777'216.0F;
  EXPECT_GT(TorchSum(numbers), 16'777'216.0F + 4000.0F);
  EXPECT_THAT(TorchSum(std::vector<float>(7, 0.5F)), FloatEq(3.5F));
  EXPECT_THAT(TorchSum({}), FloatEq(0.0F));
}

}  // namespace
}  // namespace headrace::ops
