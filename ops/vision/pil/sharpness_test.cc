#include "ops/vision/pil/sharpness.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

}  // namespace
}  // namespace headrace::ops
