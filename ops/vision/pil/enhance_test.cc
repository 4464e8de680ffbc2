#include "ops/vision/pil/enhance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "ops/vision/pil/blend.h"
#include "ops/vision/pil/luma.h"
#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

using Bytes3 = std::array<std::uint8_t, 3>;

std::uint8_t Clip8(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

// Computes as PIL does, in its arithmetic. Source: libImaging/Convert.c, rgb2hsv_row, which mixes
// float and double in the same way.
Bytes3 PilHsv(Bytes3 rgb) {
  const auto [r, g, b] = rgb;
  const std::uint8_t most = std::max({r, g, b});
  const std::uint8_t least = std::min({r, g, b});
  if (most == least) return {0, 0, most};
  const auto range = static_cast<float>(most - least);
  const float saturation = range / static_cast<float>(most);
  const float rc = static_cast<float>(most - r) / range;
  const float gc = static_cast<float>(most - g) / range;
  const float bc = static_cast<float>(most - b) / range;
  float hue = 0;
  if (r == most) {
    hue = bc - gc;
  } else if (g == most) {
    hue = static_cast<float>(2.0 + static_cast<double>(rc) - static_cast<double>(bc));
  } else {
    hue = static_cast<float>(4.0 + static_cast<double>(gc) - static_cast<double>(rc));
  }
  hue = static_cast<float>(std::fmod(static_cast<double>(hue) / 6.0 + 1.0, 1.0));
  return {Clip8(static_cast<int>(static_cast<double>(hue) * 255.0)),
          Clip8(static_cast<int>(static_cast<double>(saturation) * 255.0)), most};
}

// Source: libImaging/Convert.c, hsv2rgb.
Bytes3 PilRgb(Bytes3 hsv) {
  const auto [h, s, v8] = hsv;
  if (s == 0) return {v8, v8, v8};
  const double scaled = static_cast<double>(static_cast<float>(h)) * 6.0 / 255.0;
  const int sector = static_cast<int>(scaled);
  const auto f = static_cast<float>(scaled - static_cast<double>(static_cast<float>(sector)));
  const auto fs = static_cast<float>(static_cast<double>(s) / 255.0);
  const double v = v8;
  const auto round = [](double x) { return Clip8(static_cast<int>(std::floor(x + 0.5))); };
  const std::uint8_t p = round(v * (1.0 - static_cast<double>(fs)));
  const std::uint8_t q = round(v * (1.0 - static_cast<double>(fs * f)));
  const std::uint8_t t =
      round(v * (1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(f))));
  const Bytes3 out[6] = {{v8, t, p}, {q, v8, p}, {p, v8, t}, {p, q, v8}, {t, p, v8}, {v8, p, q}};
  return out[sector % 6];
}

Bytes3 PilTurned(Bytes3 rgb, std::uint8_t shift) {
  Bytes3 hsv = PilHsv(rgb);
  hsv[0] = static_cast<std::uint8_t>(hsv[0] + shift);
  return PilRgb(hsv);
}

Bytes3 PilSaturated(Bytes3 rgb, float factor) {
  const int gray = Luma(rgb[0], rgb[1], rgb[2]);
  return {Blend(gray, rgb[0], factor), Blend(gray, rgb[1], factor), Blend(gray, rgb[2], factor)};
}

// All colours with this red, as an image.
struct Colours : ImageMemory {
  Colours(int red, int pixel_bytes) : ImageMemory(256, 256, 3, pixel_bytes), red_(red) { Reset(); }
  void Reset() {
    for (int i = 0; i < 65536; ++i) {
      std::uint8_t* p = pixels + static_cast<std::size_t>(i) * image.pixel_stride;
      p[0] = static_cast<std::uint8_t>(red_);
      p[1] = static_cast<std::uint8_t>(i >> 8);
      p[2] = static_cast<std::uint8_t>(i);
    }
  }

 private:
  int red_;
};

// Expects that adjust(canvas, level) makes change(colour) of each colour, at every level.
template <typename Adjust, typename Change>
void CheckEveryColour(Adjust adjust, Change change) {
  std::vector<std::uint8_t> expected(65536 * 3);
  for (int red = 0; red < 256; ++red) {
    Colours colours(red, /*pixel_bytes=*/3 + red % 2);
    const std::vector<std::uint8_t> packed = Packed(colours.image);
    for (std::size_t i = 0; i < packed.size(); i += 3) {
      const Bytes3 changed = change(Bytes3{packed[i], packed[i + 1], packed[i + 2]});
      std::copy(changed.begin(), changed.end(), expected.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const PointwiseLevel level : PointwiseLevels()) {
      colours.Reset();
      adjust(colours.canvas(), level);
      ASSERT_EQ(Packed(colours.image), expected) << "level " << static_cast<int>(level);
    }
  }
}

class HueOfEveryColour : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Shifts, HueOfEveryColour, testing::Values(0, 76, 213));

TEST_P(HueOfEveryColour, IsPils) {
  const auto shift = static_cast<std::uint8_t>(GetParam());
  CheckEveryColour(
      [&](const Canvas& canvas, PointwiseLevel level) { TurnHue(canvas, shift, level); },
      [&](Bytes3 rgb) { return PilTurned(rgb, shift); });
}

class SaturationOfEveryColour : public testing::TestWithParam<float> {};
INSTANTIATE_TEST_SUITE_P(Factors, SaturationOfEveryColour, testing::Values(-0.5F, 0.3F, 1.9F));

TEST_P(SaturationOfEveryColour, IsPils) {
  const float factor = GetParam();
  CheckEveryColour(
      [&](const Canvas& canvas, PointwiseLevel level) { AdjustSaturation(canvas, factor, level); },
      [&](Bytes3 rgb) { return PilSaturated(rgb, factor); });
}

constexpr std::int64_t kWidths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 48, 100, 224};

// Does the same for random pictures of all widths and strides. make_change(packed pixels) gives
// change.
template <typename Adjust, typename MakeChange>
void CheckPictures(std::uint32_t seed, Adjust adjust, MakeChange make_change) {
  for (const int pixel_bytes : {3, 4}) {
    for (const std::int64_t width : kWidths) {
      for (const std::size_t slack : {0, 5}) {
        for (const PointwiseLevel level : PointwiseLevels()) {
          RandomCanvas picture(3, width, 3, pixel_bytes, slack, seed);
          std::vector<std::uint8_t> expected = Packed(picture.image);
          const std::vector<std::uint8_t> around = picture.Around();
          const auto change = make_change(expected);
          for (std::size_t i = 0; i < expected.size(); i += 3) {
            const Bytes3 changed = change(Bytes3{expected[i], expected[i + 1], expected[i + 2]});
            std::copy(changed.begin(), changed.end(),
                      expected.begin() + static_cast<std::ptrdiff_t>(i));
          }
          adjust(picture.canvas(), level);
          ASSERT_EQ(Packed(picture.image), expected)
              << "level " << static_cast<int>(level) << " width " << width << " bytes "
              << pixel_bytes;
          ASSERT_EQ(picture.Around(), around) << "wrote outside of the rows";
        }
      }
    }
  }
}

TEST(Enhance, EveryShiftOfHue) {
  for (int shift = 0; shift < 256; ++shift) {
    const auto turn = static_cast<std::uint8_t>(shift);
    CheckPictures(
        static_cast<std::uint32_t>(shift),
        [&](const Canvas& canvas, PointwiseLevel level) { TurnHue(canvas, turn, level); },
        [&](const auto&) { return [&](Bytes3 rgb) { return PilTurned(rgb, turn); }; });
  }
}

TEST(Enhance, HueFactorIsCutToAShift) {
  for (const auto& [factor, shift] :
       {std::pair{0.5F, 127}, {-0.5F, 129}, {0.3F, 76}, {-0.0039F, 0}, {-0.004F, 255}}) {
    const auto turn = static_cast<std::uint8_t>(shift);
    CheckPictures(
        5, [&](const Canvas& canvas, PointwiseLevel level) { AdjustHue(canvas, factor, level); },
        [&](const auto&) { return [&](Bytes3 rgb) { return PilTurned(rgb, turn); }; });
  }
}

constexpr float kFactors[] = {-0.7F, 0.0F, 0.25F, 0.6F, 1.0F, 1.37F, 2.0F, 1e6F};

TEST(Enhance, Saturation) {
  for (const float factor : kFactors) {
    CheckPictures(
        7,
        [&](const Canvas& canvas, PointwiseLevel level) {
          AdjustSaturation(canvas, factor, level);
        },
        [&](const auto&) { return [&](Bytes3 rgb) { return PilSaturated(rgb, factor); }; });
  }
}

TEST(Enhance, BrightnessAndContrast) {
  for (const float factor : kFactors) {
    const auto blend_with = [factor](int value) {
      return [=](Bytes3 rgb) {
        return Bytes3{Blend(value, rgb[0], factor), Blend(value, rgb[1], factor),
                      Blend(value, rgb[2], factor)};
      };
    };
    CheckPictures(
        8,
        [&](const Canvas& canvas, PointwiseLevel level) {
          AdjustBrightness(canvas, factor, level);
        },
        [&](const auto&) { return blend_with(0); });
    CheckPictures(
        9,
        [&](const Canvas& canvas, PointwiseLevel level) { AdjustContrast(canvas, factor, level); },
        [&](const std::vector<std::uint8_t>& packed) {
          std::uint64_t sum = 0;
          for (std::size_t i = 0; i < packed.size(); i += 3) {
            sum += Luma(packed[i], packed[i + 1], packed[i + 2]);
          }
          const auto pixels = static_cast<double>(packed.size() / 3);
          return blend_with(static_cast<int>(static_cast<double>(sum) / pixels + 0.5));
        });
  }
}

TEST(Enhance, GrayHasNoColour) {
  for (const PointwiseLevel level : PointwiseLevels()) {
    RandomCanvas picture(3, 50, 1, 1, 2, /*seed=*/1);
    const std::vector<std::uint8_t> before = Packed(picture.image);
    TurnHue(picture.canvas(), 50, level);
    AdjustSaturation(picture.canvas(), 2.0F, level);
    EXPECT_EQ(Packed(picture.image), before);
    AdjustContrast(picture.canvas(), 0.0F, level);
    std::uint64_t sum = 0;
    for (const std::uint8_t value : before) sum += value;
    const auto mean = static_cast<std::uint8_t>(
        static_cast<double>(sum) / static_cast<double>(before.size()) + 0.5);
    EXPECT_EQ(Packed(picture.image), std::vector<std::uint8_t>(before.size(), mean));
  }
}

}  // namespace
}  // namespace headrace::ops
