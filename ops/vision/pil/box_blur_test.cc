#include "ops/vision/pil/box_blur.h"

#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint8_t> Blurred(const Image& image, float radius,
                                  PointwiseLevel level = DetectPointwiseLevel()) {
  ScratchBuffer scratch;
  std::vector<std::uint8_t> out(image.spec.bytes());
  PilGaussianBlur(image, radius, scratch, out.data(), level);
  return out;
}

TEST(BoxBlur, WeightsAddUpToOne) {
  for (const float radius : {0.01F, 0.3F, 1.0F, 2.0F, 7.5F, 100.0F, 1000.0F}) {
    const BoxWeights box = GaussianBox(radius, 3);
    const auto all = static_cast<std::uint64_t>(2 * box.radius + 1) * box.inside + 2 * box.end;
    EXPECT_LE(all, std::uint64_t{1} << 24) << radius;
    EXPECT_GE(all, (std::uint64_t{1} << 24) - 1) << radius;
  }
}

TEST(BoxBlur, ConstantsStayAndABlurIsSymmetric) {
  ImageMemory image(1, 7, 1, 1);
  std::fill_n(image.pixels, 7, std::uint8_t{200});
  EXPECT_THAT(Blurred(image.image, 2), testing::Each(200));
  for (std::size_t i = 0; i < 7; ++i) image.pixels[i] = i == 3 ? 255 : 0;
  // As PIL 13.
  EXPECT_THAT(Blurred(image.image, 1), ElementsAre(1, 14, 60, 103, 60, 14, 1));
}

TEST(BoxBlur, EveryInstructionSetGivesTheSameBits) {
  std::mt19937 random(11);
  for (const auto& [height, width] :
       {std::pair{1, 1}, {1, 30}, {30, 1}, {2, 3}, {9, 8}, {33, 50}, {64, 21}}) {
    for (const auto& [channels, bytes] : {std::pair{1, 1}, {1, 3}, {3, 3}, {3, 4}}) {
      ImageMemory image(height, width, channels, bytes, /*row_slack=*/5);
      const auto total = image.image.row_stride * static_cast<std::size_t>(height);
      for (std::size_t i = 0; i < total; ++i) image.pixels[i] = static_cast<std::uint8_t>(random());
      for (const float radius : {0.01F, 0.4F, 1.0F, 1.9F, 3.0F, 11.0F, 200.0F}) {
        const auto expected = Blurred(image.image, radius, PointwiseLevel::kScalar);
        for (const PointwiseLevel level : PointwiseLevels()) {
          EXPECT_EQ(Blurred(image.image, radius, level), expected)
              << "seed 11, " << height << " by " << width << ", radius " << radius;
        }
      }
    }
  }
}

}  // namespace
}  // namespace headrace::ops
