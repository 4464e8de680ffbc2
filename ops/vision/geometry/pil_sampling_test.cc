#include "ops/vision/geometry/pil_sampling.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "ops/vision/testing/test_util.h"

// tests/python/ops compares the filters with Pillow, by way of the transforms.
namespace headrace::ops {
namespace {

TEST(PilSampling, VectorsGiveTheSameBits) {
  std::mt19937 random(11);
  for (const int bytes : {3, 4}) {
    for (const auto& [height, width] : {std::pair{1, 1}, {1, 7}, {9, 2}, {31, 40}}) {
      ImageMemory image(height, width, 3, bytes, /*row_slack=*/0);
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          std::uint8_t* const pixel = const_cast<std::uint8_t*>(image.image.At(y, x));
          for (int c = 0; c < 3; ++c) pixel[c] = static_cast<std::uint8_t>(random());
        }
      }
      std::uniform_real_distribution<double> along(-0.2, 1.2);
      std::vector<PilPoint> points{{0, 0}, {0.5, 0.5}, {width - 0.5, height - 0.5}, {1e300, 0}};
      for (int i = 0; i < 500; ++i)
        points.push_back({along(random) * width, along(random) * height});
      const PilSource source(image.image);
      for (const Interpolation mode : {Interpolation::kBilinear, Interpolation::kBicubic}) {
        std::vector<std::uint8_t> plain(3 * points.size()), vectors(plain.size());
        const PilFill fill{1, 2, 3};
        PilSamplerOf(mode, 3, false)(source, points, fill, plain.data());
        PilSamplerOf(mode, 3, true)(source, points, fill, vectors.data());
        EXPECT_EQ(plain, vectors);
      }
    }
  }
}

}  // namespace
}  // namespace headrace::ops
