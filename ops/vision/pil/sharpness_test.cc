#include "ops/vision/pil/sharpness.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/vision/pil/blend.h"
#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

using ::testing::ElementsAre;

TEST(Sharpness, OnlyTheInsideChanges) {
  ImageMemory image(3, 3, 1, 1);
  for (std::size_t i = 0; i < 9; ++i) image.pixels[i] = i == 4 ? 130 : 0;
  std::vector<std::uint8_t> out(9);
  // 130 * 5 / 13 = 50: blurred, half way, sharper than white.
  AdjustSharpness(image.image, 0.0F, out.data());
  EXPECT_THAT(out, ElementsAre(0, 0, 0, 0, 50, 0, 0, 0, 0));
  AdjustSharpness(image.image, 0.5F, out.data());
  EXPECT_EQ(out[4], 90);
  AdjustSharpness(image.image, 3.0F, out.data());
  EXPECT_EQ(out[4], 255);
}

TEST(Sharpness, SmallImagesAndAnyStrideStayWhole) {
  for (const auto& [height, width] : {std::pair{1, 1}, {2, 9}, {9, 2}}) {
    for (const auto& [channels, bytes] : {std::pair{1, 1}, {1, 3}, {1, 4}, {3, 3}, {3, 4}}) {
      ImageMemory image(height, width, channels, bytes, /*row_slack=*/2);
      const auto total = image.image.row_stride * static_cast<std::size_t>(height);
      for (std::size_t i = 0; i < total; ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 37);
      std::vector<std::uint8_t> out(image.image.spec.bytes());
      AdjustSharpness(image.image, 0.0F, out.data());
      EXPECT_EQ(out, Packed(image.image));
    }
  }
}

TEST(Sharpness, ChannelsDoNotMix) {
  for (const int bytes : {3, 4}) {
    ImageMemory image(3, 3, 3, bytes);
    for (std::size_t i = 0; i < 9; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        image.pixels[i * image.image.pixel_stride + c] =
            static_cast<std::uint8_t>(c == 1 ? 130 : 13);
      }
    }
    std::vector<std::uint8_t> out(27);
    AdjustSharpness(image.image, 0.0F, out.data());
    EXPECT_EQ(out, Packed(image.image));
  }
}

// PIL's numbers, one by one.
std::uint8_t ByHand(const Image& in, std::int64_t y, std::int64_t x, std::int64_t c, float factor) {
  constexpr float kNear = 1.0F / 13.0F, kCenter = 5.0F / 13.0F;
  float sum = 0.5F;
  for (const std::int64_t down : {1, 0, -1}) {
    const float middle = down == 0 ? kCenter : kNear;
    const auto value = [&](std::int64_t right) {
      return static_cast<float>(in.At(y + down, x + right)[c]);
    };
    sum += value(-1) * kNear + value(0) * middle + value(1) * kNear;
  }
  const int smooth = static_cast<int>(std::clamp(sum, 0.0F, 255.0F));
  return Blend(smooth, in.At(y, x)[c], factor);
}

TEST(Sharpness, EveryInstructionSetGivesPilsNumbers) {
  std::mt19937 random(7);
  for (const int width : {3, 4, 5, 10, 11, 12, 35, 64}) {
    for (const auto& [channels, bytes] : {std::pair{1, 1}, {1, 3}, {3, 3}, {3, 4}}) {
      ImageMemory image(5, width, channels, bytes, /*row_slack=*/2);
      for (std::size_t i = 0; i < image.image.row_stride * 5; ++i) {
        image.pixels[i] = static_cast<std::uint8_t>(random());
      }
      const float factor = static_cast<float>(random() % 4000) / 1000 - 0.5F;
      SCOPED_TRACE(testing::Message() << "seed 7, width " << width << ", factor " << factor);
      std::vector<std::uint8_t> expected = Packed(image.image);
      for (std::int64_t y = 1; y < 4; ++y) {
        for (std::int64_t x = 1; x + 1 < width; ++x) {
          for (std::int64_t c = 0; c < channels; ++c) {
            expected[static_cast<std::size_t>((y * width + x) * channels + c)] =
                ByHand(image.image, y, x, c, factor);
          }
        }
      }
      for (const PointwiseLevel level : PointwiseLevels()) {
        std::vector<std::uint8_t> out(expected.size());
        AdjustSharpness(image.image, factor, out.data(), level);
        EXPECT_EQ(out, expected) << static_cast<int>(level);
      }
    }
  }
}

}  // namespace
}  // namespace headrace::ops
