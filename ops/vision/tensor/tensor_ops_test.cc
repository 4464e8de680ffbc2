#include "ops/vision/tensor/tensor_ops.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/vision/testing/test_util.h"

// Expected values come from torchvision 0.28; tests/python/ops has more comparisons.
namespace headrace::ops {
namespace {

using ::testing::ElementsAre;
using Pixels = std::vector<std::uint8_t>;

class Picture {
 public:
  Picture(std::int64_t height, std::int64_t width, int channels, Pixels pixels)
      : pixels_(std::move(pixels)),
        canvas_{pixels_.data(),
                static_cast<std::size_t>(width * channels),
                static_cast<std::size_t>(channels),
                {height, width, channels, DType::kU8, Layout::kHwc}} {}
  [[nodiscard]] const Canvas& canvas() const { return canvas_; }
  [[nodiscard]] const Pixels& pixels() const { return pixels_; }

 private:
  Pixels pixels_;
  Canvas canvas_;
};

TEST(TensorOps, BrightnessIsCutNotRounded) {
  Picture picture(1, 4, 1, {1, 3, 101, 200});
  TensorBrightness(picture.canvas(), 1.9);
  EXPECT_THAT(picture.pixels(), ElementsAre(1, 5, 191, 255));
}

TEST(TensorOps, MeanOfMoreThanFloat32HoldsIsAddedLaneByLane) {
  constexpr std::int64_t kWidth = 200'003;
  Picture picture(1, kWidth, 1, Pixels(kWidth, 255));
  EXPECT_TRUE(TensorContrast(picture.canvas(), 0.0, 1).ok());
  EXPECT_THAT(picture.pixels(), ::testing::Each(255));
}

// The sum of a tenth and nine tenths of a number is that number by a fused operation, and may be less
// where both products are rounded.
TEST(TensorOps, ContrastOfV2IsRefusedWhereAnEndHasOtherBits) {
  int refused = 0;
  for (int value = 1; value < 256; ++value) {
    Picture v2(1, 17, 1, Pixels(17, static_cast<std::uint8_t>(value)));
    refused += TensorContrast(v2.canvas(), 0.1, 2).code() == Code::kUnsupported ? 1 : 0;
    Picture v1(1, 17, 1, Pixels(17, static_cast<std::uint8_t>(value)));
    EXPECT_TRUE(TensorContrast(v1.canvas(), 0.1, 1).ok());
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 100);
}

TEST(TensorOps, VersionsRoundGrayDifferently) {
  int different = 0;
  for (int r = 0; r < 256; r += 5) {
    for (int g = 0; g < 256; g += 3) {
      for (int b = 0; b < 256; b += 3) {
        const Pixels pixel{static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(g),
                           static_cast<std::uint8_t>(b)};
        Picture v1(1, 1, 3, pixel);
        Picture v2(1, 1, 3, pixel);
        TensorSaturation(v1.canvas(), 0.1, 1);
        TensorSaturation(v2.canvas(), 0.1, 2);
        different += v1.pixels() != v2.pixels();
      }
    }
  }
  EXPECT_GT(different, 0);
  EXPECT_LT(different, 20000);
}

TEST(TensorOps, SaturationLeavesGrayImagesAlone) {
  Picture picture(1, 2, 1, {3, 200});
  TensorSaturation(picture.canvas(), 0.0, 2);
  EXPECT_THAT(picture.pixels(), ElementsAre(3, 200));
}

TEST(TensorOps, SharpnessRoundsTheBlurredImage) {
  for (const int api : {1, 2}) {
    ImageMemory image(3, 3, 1, 1);
    for (std::size_t i = 0; i < 9; ++i) image.pixels[i] = i == 4 ? 132 : 0;
    Pixels out(9);
    TensorSharpness(image.image, 0.0, api, out.data());  // 132 * 5 / 13 = 50.77
    EXPECT_THAT(out, ElementsAre(0, 0, 0, 0, 51, 0, 0, 0, 0));
    TensorSharpness(image.image, 3.0, api, out.data());
    EXPECT_EQ(out[4], 255);
  }
}

TEST(TensorOps, SharpnessLeavesSmallImagesAlone) {
  ImageMemory image(2, 4, 1, 1);
  for (std::size_t i = 0; i < 8; ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 30);
  Pixels out(8);
  TensorSharpness(image.image, 0.1, 1, out.data());
  EXPECT_EQ(out, Packed(image.image));
}

TEST(TensorOps, SolarizeTakesTheThresholdItself) {
  Picture picture(1, 3, 1, {99, 100, 101});
  TensorSolarize(picture.canvas(), 100);
  EXPECT_THAT(picture.pixels(), ElementsAre(99, 155, 154));
}

TEST(TensorOps, AutoContrastStretchesEachChannelAndLeavesFlatOnes) {
  for (const int api : {1, 2}) {
    Picture picture(1, 2, 3, {10, 7, 0, 20, 7, 255});
    TensorAutoContrast(picture.canvas(), api);
    EXPECT_THAT(picture.pixels(), ElementsAre(0, 7, 0, api == 1 ? 255 : 254, 7, 255));
  }
}

TEST(TensorOps, GrayIsCut) {
  ImageMemory image(1, 2, 3, 3);
  const Pixels pixels{255, 255, 255, 10, 20, 200};
  std::copy(pixels.begin(), pixels.end(), image.pixels);
  image.image.held = WholeOf(image.image.spec);
  for (const int channels : {1, 3}) {
    Image out = image.image;
    out.spec.channels = channels;
    ScratchBuffer memory;
    TensorGray(image.image, 1, memory, &out);  // 254.97.., 37.53..
    EXPECT_EQ(Packed(out), channels == 1 ? Pixels({254, 37}) : Pixels({254, 254, 254, 37, 37, 37}));
  }
}

TEST(TensorOps, HueTurnsAndLeavesGray) {
  for (const int api : {1, 2}) {
    Picture picture(1, 3, 3, {255, 0, 0, 90, 90, 90, 0, 0, 0});
    TensorHue(picture.canvas(), 0.5F, api);
    EXPECT_THAT(picture.pixels(), ElementsAre(0, 255, 255, 90, 90, 90, 0, 0, 0));
  }
}

class TensorLevels : public ::testing::TestWithParam<std::tuple<int, std::size_t, int>> {};

// Covers every row length up to a few registers. Bytes around the pixels must not change.
TEST_P(TensorLevels, GiveTheSameBits) {
  const auto [pixel_bytes, row_slack, api] = GetParam();
  for (const PointwiseLevel level : PointwiseLevels()) {
    for (std::int64_t width = 1; width < 40; ++width) {
      const auto seed = static_cast<std::uint32_t>(width);
      const auto changed = [&](PointwiseLevel by, auto change) {
        RandomCanvas canvas(3, width, 3, pixel_bytes, row_slack, seed);
        const std::vector<std::uint8_t> around = canvas.Around();
        change(canvas.canvas(), by);
        EXPECT_EQ(canvas.Around(), around);
        return Packed(canvas.image);
      };
      const auto same = [&](auto change) {
        return changed(level, change) == changed(PointwiseLevel::kScalar, change);
      };
      for (const double factor : {0.0, 0.3, 1.7, 30.0}) {
        EXPECT_TRUE(same([&](const Canvas& c, auto by) { TensorBrightness(c, factor, by); }));
        EXPECT_TRUE(same([&](const Canvas& c, auto by) { TensorSaturation(c, factor, api, by); }));
        EXPECT_TRUE(
            same([&](const Canvas& c, auto by) { (void)TensorContrast(c, factor, api, by); }));
      }
      for (const float factor : {-0.5F, -0.1F, 0.0F, 0.3F, 0.5F}) {
        EXPECT_TRUE(same([&](const Canvas& c, auto by) { TensorHue(c, factor, api, by); }));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, TensorLevels,
                         ::testing::Combine(::testing::Values(3, 4),
                                            ::testing::Values(std::size_t{0}, std::size_t{5}),
                                            ::testing::Values(1, 2)));

TEST(TensorOps, SharpnessAndGrayOfEveryLevelAreTheSame) {
  for (const int api : {1, 2}) {
    for (const PointwiseLevel level : PointwiseLevels()) {
      for (const int channels : {1, 3}) {
        for (std::int64_t width = 1; width < 40; ++width) {
          const RandomCanvas from(5, width, channels, channels, 7, 3);
          Image in = from.image;
          in.held = WholeOf(in.spec);
          const auto made = [&](PointwiseLevel by) {
            Pixels out(in.spec.bytes());
            TensorSharpness(in, 1.9, api, out.data(), by);
            ScratchBuffer memory;
            Image gray = in;
            gray.spec.channels = 3;
            TensorGray(in, api, memory, &gray, by);
            const Pixels grays = Packed(gray);
            out.insert(out.end(), grays.begin(), grays.end());
            return out;
          };
          EXPECT_EQ(made(level), made(PointwiseLevel::kScalar));
        }
      }
    }
  }
}

}  // namespace
}  // namespace headrace::ops
