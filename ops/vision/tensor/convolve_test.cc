#include "ops/vision/tensor/convolve.h"

#include <random>
#include <vector>

#include "base/test_draws.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/vision/testing/test_util.h"

// tests/python/ops compares with torchvision.
namespace headrace::ops {
namespace {

using test_draws::Random;
using test_draws::SeedOr;

using Bytes8 = std::vector<std::uint8_t>;

std::size_t Below(Random& random, std::size_t end) { return random() % end; }

std::vector<float> RandomWeights(Random& random, std::size_t count) {
  std::vector<float> weights(count);
  float sum = 0;
  for (float& weight : weights) sum += weight = static_cast<float>(random() % 1000) + 1;
  for (float& weight : weights) weight /= sum * 1.0001F;
  return weights;
}

Bytes8 Convolved(const Image& in, const ConvolveWeights& weights, const Window& wanted,
                 PointwiseLevel level) {
  OpContext context;
  Bytes8 out(static_cast<std::size_t>(wanted.height * wanted.width * in.spec.channels));
  Convolve(in, weights, wanted, context, out.data(), level);
  return out;
}

TEST(Convolve, SumsByRowsAndThenByColumns) {
  ImageMemory image(3, 3, 1, 1);
  for (std::size_t i = 0; i < 9; ++i) image.pixels[i] = static_cast<std::uint8_t>(i * i);
  image.image.held = WholeOf(image.image.spec);
  // The centre: the weight of its column is 1/2, of its row 1/4, and of the row below 3/4.
  const std::vector<float> x{0.5F, 0.5F, 0}, y{0, 0.25F, 0.75F};
  const Window centre{1, 1, 1, 1};
  for (const PointwiseLevel level : PointwiseLevels()) {
    // (9 + 16) / 8 + (36 + 49) * 3 / 8 = 35
    EXPECT_THAT(Convolved(image.image, {x, y}, centre, level), ::testing::ElementsAre(35));
  }
}

TEST(Convolve, EveryLevelHasTheBitsOfTheScalarOne) {
  for (unsigned round = 0; round < 120; ++round) {
    Random random(SeedOr(20270) + round);
    SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(SeedOr(20270) + round));
    const auto height = static_cast<std::int64_t>(13 + Below(random, 40));
    const auto width = static_cast<std::int64_t>(13 + Below(random, 90));
    const int channels = random() % 2 == 0 ? 1 : 3;
    const int stride = channels == 1 ? 1 : static_cast<int>(3 + Below(random, 2));
    RandomCanvas canvas(height, width, channels, stride, Below(random, 9), random());
    canvas.image.held = WholeOf(canvas.image.spec);
    const std::vector<float> x = RandomWeights(random, 2 * Below(random, 13) + 1);
    const std::vector<float> y = RandomWeights(random, 2 * Below(random, 13) + 1);
    const Window whole = WholeOf(canvas.image.spec);
    const Bytes8 expected = Convolved(canvas.image, {x, y}, whole, PointwiseLevel::kScalar);
    for (const PointwiseLevel level : PointwiseLevels()) {
      EXPECT_EQ(Convolved(canvas.image, {x, y}, whole, level), expected);
    }
  }
}

TEST(Convolve, APartIsMadeOfTheWindowThatItReads) {
  for (unsigned round = 0; round < 120; ++round) {
    Random random(SeedOr(20270) + round);
    SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(SeedOr(20270) + round));
    RandomCanvas canvas(31, 47, 3, 4, 5, random());
    Image image = canvas.image;
    image.held = WholeOf(image.spec);
    const std::vector<float> x = RandomWeights(random, 2 * Below(random, 13) + 1);
    const std::vector<float> y = RandomWeights(random, 2 * Below(random, 13) + 1);
    Window part{static_cast<std::int64_t>(Below(random, 31)),
                static_cast<std::int64_t>(Below(random, 47)), 1, 1};
    part.height +=
        static_cast<std::int64_t>(Below(random, static_cast<std::size_t>(31 - part.top)));
    part.width +=
        static_cast<std::int64_t>(Below(random, static_cast<std::size_t>(47 - part.left)));
    const Bytes8 whole = Convolved(image, {x, y}, WholeOf(image.spec), DetectPointwiseLevel());
    Bytes8 expected;
    for (std::int64_t row = part.top; row < part.top + part.height; ++row) {
      const auto first = whole.begin() + (row * 47 + part.left) * 3;
      expected.insert(expected.end(), first, first + part.width * 3);
    }
    // Only the window is in memory; around it other bytes.
    const Window reads = ConvolveReads(image.spec, std::ssize(x), std::ssize(y), part);
    Image held = image;
    held.data = image.At(reads.top, reads.left);
    held.held = reads;
    for (std::int64_t row = 0; row < 31; ++row) {
      for (std::int64_t column = 0; column < 47; ++column) {
        const bool inside = row >= reads.top && row < reads.top + reads.height &&
                            column >= reads.left && column < reads.left + reads.width;
        if (inside) continue;
        const std::size_t at = static_cast<std::size_t>(row) * image.row_stride +
                               static_cast<std::size_t>(column) * image.pixel_stride;
        for (std::size_t c = 0; c < 3; ++c) canvas.pixels[at + c] ^= 0x55;
      }
    }
    EXPECT_EQ(Convolved(held, {x, y}, part, DetectPointwiseLevel()), expected);
  }
}

TEST(Convolve, LongImagesAreMadeInBands) {
  RandomCanvas canvas(700, 400, 3, 3, 0, SeedOr(20270));
  canvas.image.held = WholeOf(canvas.image.spec);
  Random random(SeedOr(20270));
  const std::vector<float> x = RandomWeights(random, 3), y = RandomWeights(random, 9);
  const Window whole = WholeOf(canvas.image.spec);
  const Bytes8 made = Convolved(canvas.image, {x, y}, whole, DetectPointwiseLevel());
  for (std::int64_t row = 0; row < 700; row += 7) {
    const Window line{row, 0, 1, 400};
    const Bytes8 alone = Convolved(canvas.image, {x, y}, line, DetectPointwiseLevel());
    const auto first = made.begin() + row * 1200;
    EXPECT_EQ(Bytes8(first, first + 1200), alone) << row;
  }
}

}  // namespace
}  // namespace headrace::ops
