#include "ops/vision/pil/image_ops.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::ops {
namespace {

using ::testing::ElementsAre;
using Bytes8 = std::vector<std::uint8_t>;

Canvas Over(Bytes8& values, int channels) {
  const auto pixel = static_cast<std::size_t>(channels);
  const auto width = static_cast<std::int64_t>(values.size() / pixel);
  return {values.data(), values.size(), pixel,
          ImageSpec{1, width, channels, DType::kU8, Layout::kHwc}};
}

TEST(ImageOps, Invert) {
  Bytes8 values{0, 1, 254, 255};
  Invert(Over(values, 1));
  EXPECT_THAT(values, ElementsAre(255, 254, 1, 0));
}

TEST(ImageOps, PosterizeKeepsTheUpperBits) {
  Bytes8 values{0, 127, 128, 255};
  Posterize(Over(values, 1), 8);
  EXPECT_THAT(values, ElementsAre(0, 127, 128, 255));
  Posterize(Over(values, 1), 2);
  EXPECT_THAT(values, ElementsAre(0, 64, 128, 192));
  Posterize(Over(values, 1), 1);
  EXPECT_THAT(values, ElementsAre(0, 0, 128, 128));
}

TEST(ImageOps, SolarizeInvertsFromTheThresholdOn) {
  Bytes8 values{0, 99, 100, 101, 255};
  Solarize(Over(values, 1), 99.5);
  EXPECT_THAT(values, ElementsAre(0, 99, 155, 154, 0));
  Bytes8 all{0, 255};
  Solarize(Over(all, 1), 256);
  EXPECT_THAT(all, ElementsAre(0, 255));
  Solarize(Over(all, 1), 0);
  EXPECT_THAT(all, ElementsAre(255, 0));
}

TEST(ImageOps, AutoContrastStretchesEachChannel) {
  // 10..20, 5..5 (left alone) and 0..255.
  Bytes8 values{10, 5, 0, 13, 5, 255, 20, 5, 7};
  AutoContrast(Over(values, 3));
  EXPECT_THAT(values, ElementsAre(0, 5, 0, 76, 5, 255, 255, 5, 7));
}

TEST(ImageOps, EqualizeNeedsEnoughPixels) {
  Bytes8 few{1, 2, 3, 4};
  Equalize(Over(few, 1));
  EXPECT_THAT(few, ElementsAre(1, 2, 3, 4));  // a step of 0
  Bytes8 flat(1000, 8);
  Equalize(Over(flat, 1));
  EXPECT_EQ(flat, Bytes8(1000, 8));
}

TEST(ImageOps, EqualizeSpreadsByCountAndClips) {
  // 300 of 10, 209 of 20, one of 30: step (510 - 1) / 255 = 1, n = 0, 300, 509.
  Bytes8 values(300, 10);
  values.insert(values.end(), 209, 20);
  values.push_back(30);
  Equalize(Over(values, 1));
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[300], 255);
  EXPECT_EQ(values[509], 255);
  // 255 and 255, one of 30: step 2, n = 1, 256, 511.
  Bytes8 even(255, 10);
  even.insert(even.end(), 255, 20);
  even.push_back(30);
  Equalize(Over(even, 1));
  EXPECT_EQ(even[0], 0);
  EXPECT_EQ(even[255], 128);
  EXPECT_EQ(even[510], 255);
}

}  // namespace
}  // namespace headrace::ops
