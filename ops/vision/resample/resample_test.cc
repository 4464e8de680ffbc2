#include "ops/vision/resample/resample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "ops/vision/floats.h"
#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

struct Picture : ImageMemory {
  Picture(std::int64_t height, std::int64_t width, int channels, int pixel_bytes, unsigned seed)
      : ImageMemory(height, width, channels, pixel_bytes) {
    std::mt19937 random(seed);
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        for (int c = 0; c < channels; ++c) {
          pixels[y * image.row_stride + x * image.pixel_stride + c] =
              static_cast<std::uint8_t>((x * 3 + y * 5 + c * 40 + random() % 64) & 255);
        }
      }
    }
  }
};

std::vector<SimdLevel> Levels() {
  std::vector<SimdLevel> levels;
  for (int i = 0; i <= static_cast<int>(DetectSimdLevel()); ++i) {
    levels.push_back(static_cast<SimdLevel>(i));
  }
  return levels;
}

std::vector<std::uint8_t> Resized(SimdLevel level, const ResizeSpec& spec, const Image& in,
                                  const std::optional<Window>& out_window = std::nullopt) {
  Resampler resampler(level);
  ScratchBuffer memory;
  Image out;
  const Status status = resampler.Resize(spec, in, std::nullopt, out_window, memory, &out);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return status.ok() ? Packed(out) : std::vector<std::uint8_t>{};
}

constexpr Filter kFilters[] = {Filter::kNearest, Filter::kLanczos, Filter::kBilinear,
                               Filter::kBicubic, Filter::kBox,     Filter::kHamming};

TEST(Resample, ValuesOfPillow) {
  // Expected: Image.frombytes("L", (4, 1), bytes([0, 100, 200, 50])).resize((2, 1), filter) with
  // Pillow.
  Picture picture(1, 4, 1, 1, 0);
  const std::uint8_t row[] = {0, 100, 200, 50};
  std::copy(std::begin(row), std::end(row), picture.memory.data());
  const auto halve = [&](Filter filter) {
    return Resized(
        SimdLevel::kScalar,
        {.in_width = 4, .in_height = 1, .out_width = 2, .out_height = 1, .filter = filter},
        picture.image);
  };
  EXPECT_THAT(halve(Filter::kNearest), testing::ElementsAre(100, 50));
  EXPECT_THAT(halve(Filter::kBox), testing::ElementsAre(50, 125));
  EXPECT_THAT(halve(Filter::kBilinear), testing::ElementsAre(71, 121));
  EXPECT_THAT(halve(Filter::kBicubic), testing::ElementsAre(68, 127));
  EXPECT_THAT(halve(Filter::kLanczos), testing::ElementsAre(71, 130));
  EXPECT_THAT(halve(Filter::kHamming), testing::ElementsAre(56, 124));
}

constexpr ResizeArithmetic kBytes = ResizeArithmetic::kTorchBytes;
constexpr ResizeArithmetic kFloats = ResizeArithmetic::kTorchFloats;

TEST(Resample, ValuesOfTorch) {
  // Expected: resize(torch.tensor([[[0, 100, 200, 50, 7]]], dtype=torch.uint8), [1, width], mode,
  // antialias) of torchvision's v2, and of v1 for floats.
  Picture picture(1, 5, 1, 1, 0);
  const std::uint8_t row[] = {0, 100, 200, 50, 7};
  std::copy(std::begin(row), std::end(row), picture.memory.data());
  for (const SimdLevel level : Levels()) {
    const auto to = [&](std::int64_t width, Filter filter, ResizeArithmetic arithmetic,
                        bool antialias = true) {
      return Resized(level,
                     {.in_width = 5,
                      .in_height = 1,
                      .out_width = width,
                      .out_height = 1,
                      .filter = filter,
                      .arithmetic = arithmetic,
                      .antialias = antialias},
                     picture.image);
    };
    using testing::ElementsAre;
    EXPECT_THAT(to(3, Filter::kNearest, kBytes), ElementsAre(0, 100, 50));
    EXPECT_THAT(to(7, Filter::kNearest, kBytes), ElementsAre(0, 0, 100, 200, 200, 50, 7));
    EXPECT_THAT(to(3, Filter::kNearestExact, kBytes), ElementsAre(0, 200, 7));
    EXPECT_THAT(to(7, Filter::kNearestExact, kFloats), ElementsAre(0, 100, 100, 200, 50, 50, 7));
    EXPECT_THAT(to(3, Filter::kBilinear, kBytes), ElementsAre(43, 144, 25));
    EXPECT_THAT(to(3, Filter::kBilinear, kFloats), ElementsAre(43, 144, 25));
    EXPECT_THAT(to(3, Filter::kBilinear, kBytes, false), ElementsAre(33, 200, 21));
    EXPECT_THAT(to(7, Filter::kBilinear, kBytes), ElementsAre(0, 57, 129, 200, 93, 32, 7));
    EXPECT_THAT(to(3, Filter::kBicubic, kBytes), ElementsAre(43, 153, 23));
    EXPECT_THAT(to(7, Filter::kBicubic, kFloats), ElementsAre(0, 49, 136, 200, 92, 21, 4));
    EXPECT_THAT(to(7, Filter::kBicubic, kBytes, false), ElementsAre(0, 48, 144, 200, 99, 16, 4));
    EXPECT_THAT(to(7, Filter::kLanczos, kBytes), ElementsAre(0, 39, 151, 200, 101, 11, 7));
  }
}

TEST(Resample, EveryInstructionSetGivesTheSameBitsOfTorch) {
  struct Way {
    Filter filter;
    ResizeArithmetic arithmetic;
    bool antialias;
  };
  const Way ways[] = {{Filter::kBilinear, kBytes, true},    {Filter::kBilinear, kBytes, false},
                      {Filter::kBicubic, kBytes, true},     {Filter::kBicubic, kBytes, false},
                      {Filter::kLanczos, kBytes, true},     {Filter::kBilinear, kFloats, true},
                      {Filter::kBicubic, kFloats, true},    {Filter::kNearest, kBytes, true},
                      {Filter::kNearestExact, kBytes, true}};
  const std::int64_t sizes[][4] = {{1, 1, 5, 7},     {97, 61, 224, 224},  {300, 200, 64, 50},
                                   {33, 400, 31, 9}, {640, 7, 13, 7},     {257, 33, 258, 5},
                                   {60, 60, 60, 10}, {200, 130, 199, 129}};
  for (const auto& size : sizes) {
    for (const Way& way : ways) {
      for (const int pixel_bytes : {1, 3, 4}) {
        const int channels = pixel_bytes == 1 ? 1 : 3;
        const Picture picture(size[1], size[0], channels, pixel_bytes, 3);
        const ResizeSpec spec{.in_width = size[0],
                              .in_height = size[1],
                              .out_width = size[2],
                              .out_height = size[3],
                              .filter = way.filter,
                              .arithmetic = way.arithmetic,
                              .antialias = way.antialias};
        const auto expected = Resized(SimdLevel::kScalar, spec, picture.image);
        for (const SimdLevel level : Levels()) {
          EXPECT_EQ(Resized(level, spec, picture.image), expected)
              << static_cast<int>(level) << ' ' << static_cast<int>(way.filter) << ' ' << size[0];
        }
      }
    }
  }
}

// The floats of a channel after the other, without what lies between them.
std::vector<float> FloatsOf(const Image& image) {
  std::vector<float> floats;
  for (std::int64_t y = 0; y < image.spec.height; ++y) {
    for (std::int64_t x = 0; x < image.spec.width; ++x) {
      const auto* pixel = reinterpret_cast<const float*>(image.data + y * image.row_stride +
                                                         x * image.pixel_stride);
      floats.insert(floats.end(), pixel, pixel + image.spec.channels);
    }
  }
  return floats;
}

// Windows of the output have the bits of the whole, with all instruction sets.
TEST(Resample, FloatsOfEveryInstructionSetAndWindow) {
  std::mt19937 random(6);
  std::normal_distribution<float> numbers;
  const std::int64_t sizes[][4] = {{1, 1, 5, 7},     {97, 61, 124, 124}, {300, 200, 64, 50},
                                   {33, 400, 31, 9}, {640, 7, 13, 7},    {60, 60, 60, 10}};
  for (const auto& size : sizes) {
    for (const int channels : {1, 3}) {
      const std::size_t step = FloatPixelBytes(channels) / sizeof(float);
      std::vector<float> values(static_cast<std::size_t>(size[0] * size[1]) * step);
      for (float& value : values) value = numbers(random);
      const ImageSpec kind{size[1], size[0], channels, DType::kF32, Layout::kHwc};
      const Image in{reinterpret_cast<const std::uint8_t*>(values.data()),
                     static_cast<std::size_t>(size[0]) * step * sizeof(float), step * sizeof(float),
                     kind, WholeOf(kind)};
      for (const Filter filter :
           {Filter::kBilinear, Filter::kBicubic, Filter::kNearest, Filter::kNearestExact}) {
        const ResizeSpec spec{.in_width = size[0],
                              .in_height = size[1],
                              .out_width = size[2],
                              .out_height = size[3],
                              .filter = filter,
                              .arithmetic = ResizeArithmetic::kFloats};
        const Window window{size[3] / 3, size[2] / 4, (size[3] + 1) / 2, (size[2] + 1) / 2};
        std::vector<float> expected;
        for (const SimdLevel level : Levels()) {
          Resampler resampler(level);
          ScratchBuffer memory, part_memory;
          Image whole, part;
          ASSERT_TRUE(resampler.Resize(spec, in, std::nullopt, std::nullopt, memory, &whole).ok());
          if (expected.empty()) expected = FloatsOf(whole);
          EXPECT_EQ(FloatsOf(whole), expected) << static_cast<int>(level) << ' ' << size[0];
          whole.spec.layout = Layout::kHwc;
          const Result<Window> reads = resampler.InputWindow(spec, window);
          ASSERT_TRUE(reads.ok());
          ASSERT_TRUE(
              resampler.Resize(spec, in.Part(*reads), *reads, window, part_memory, &part).ok());
          EXPECT_EQ(FloatsOf(part), FloatsOf(whole.Part(window))) << static_cast<int>(filter);
        }
      }
    }
  }
}

TEST(Resample, ImagesOfAnotherTypeAreRefused) {
  const Picture picture(10, 10, 3, 4, 4);
  const ResizeSpec spec{.in_width = 10,
                        .in_height = 10,
                        .out_width = 5,
                        .out_height = 5,
                        .arithmetic = ResizeArithmetic::kFloats};
  Resampler resampler;
  ScratchBuffer memory;
  Image out;
  EXPECT_EQ(resampler.Resize(spec, picture.image, std::nullopt, std::nullopt, memory, &out).code(),
            Code::kInvalidArgument);
}

TEST(Resample, EveryInstructionSetGivesTheSameBits) {
  const std::int64_t sizes[][4] = {{1, 1, 5, 7},     {97, 61, 224, 224}, {300, 200, 64, 50},
                                   {33, 400, 31, 9}, {640, 7, 13, 7},    {5, 5, 1, 1}};
  for (const auto& size : sizes) {
    for (const Filter filter : kFilters) {
      for (const int channels : {1, 3}) {
        const Picture picture(size[1], size[0], channels, channels == 1 ? 1 : 4, 3);
        const ResizeSpec spec{.in_width = size[0],
                              .in_height = size[1],
                              .out_width = size[2],
                              .out_height = size[3],
                              .filter = filter};
        const auto expected = Resized(SimdLevel::kScalar, spec, picture.image);
        for (const SimdLevel level : Levels()) {
          EXPECT_EQ(Resized(level, spec, picture.image), expected)
              << static_cast<int>(level) << ' ' << static_cast<int>(filter) << ' ' << size[0];
        }
      }
    }
  }
}

TEST(Resample, PackedPixelsGiveTheSameBits) {
  for (const SimdLevel level : Levels()) {
    const Picture wide(50, 41, 3, 4, 9);
    const Picture packed(50, 41, 3, 3, 9);
    const ResizeSpec spec{.in_width = 41, .in_height = 50, .out_width = 30, .out_height = 60};
    EXPECT_EQ(Resized(level, spec, wide.image), Resized(level, spec, packed.image));
  }
}

TEST(Resample, WindowOfTheOutputNeedsOnlyItsInputWindow) {
  const Picture picture(120, 90, 3, 4, 4);
  for (const Filter filter : kFilters) {
    const ResizeSpec spec{.in_width = 90,
                          .in_height = 120,
                          .out_width = 64,
                          .out_height = 40,
                          .filter = filter,
                          .box = Box{3.5F, 7.25F, 80.0F, 110.5F}};
    const Window part{5, 9, 20, 31};
    Resampler resampler;
    const Result<Window> needed = resampler.InputWindow(spec, part);
    ASSERT_TRUE(needed.ok());
    EXPECT_LT(needed->height, 90);
    Image in = picture.image;
    in.data += needed->top * in.row_stride + needed->left * in.pixel_stride;
    in.spec.width = needed->width;
    in.spec.height = needed->height;
    ScratchBuffer memory;
    Image out;
    ASSERT_TRUE(resampler.Resize(spec, in, *needed, part, memory, &out).ok());
    EXPECT_EQ(Packed(out), Resized(SimdLevel::kScalar, spec, picture.image, part));
  }
}

TEST(Resample, WindowWithoutTheNeededPixelsIsRefused) {
  const Picture picture(10, 10, 3, 4, 4);
  const ResizeSpec spec{.in_width = 20, .in_height = 20, .out_width = 5, .out_height = 5};
  Resampler resampler;
  ScratchBuffer memory;
  Image out;
  const Status status =
      resampler.Resize(spec, picture.image, Window{0, 0, 10, 10}, std::nullopt, memory, &out);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("lacks pixels"));
}

TEST(Resample, ImageOfAnotherSizeIsRefused) {
  const Picture picture(10, 10, 3, 4, 4);
  const ResizeSpec spec{.in_width = 11, .in_height = 10, .out_width = 5, .out_height = 5};
  Resampler resampler;
  ScratchBuffer memory;
  Image out;
  EXPECT_EQ(resampler.Resize(spec, picture.image, std::nullopt, std::nullopt, memory, &out).code(),
            Code::kInvalidArgument);
}

TEST(Resample, SizesAndBoxesThatPilRefusesAreRefused) {
  Resampler resampler;
  const auto code = [&](ResizeSpec spec, const std::optional<Window>& window = std::nullopt) {
    return resampler.InputWindow(spec, window).status().code();
  };
  const ResizeSpec good{.in_width = 10, .in_height = 10, .out_width = 5, .out_height = 5};
  EXPECT_EQ(code(good), Code::kOk);
  ResizeSpec bad = good;
  bad.out_width = 0;
  EXPECT_EQ(code(bad), Code::kInvalidArgument);
  for (const Box& box : {Box{-1, 0, 5, 5}, Box{0, 0, 11, 5}, Box{6, 0, 5, 5}, Box{0, NAN, 5, 5}}) {
    bad = good;
    bad.box = box;
    EXPECT_EQ(code(bad), Code::kInvalidArgument);
  }
  EXPECT_EQ(code(good, Window{0, 0, 6, 5}), Code::kInvalidArgument);
  EXPECT_EQ(code(good, Window{0, 0, 0, 5}), Code::kInvalidArgument);
  bad = good;
  bad.in_width = std::int64_t{1} << 40;
  EXPECT_EQ(code(bad), Code::kUnsupported);
}

TEST(Resample, PassOrderMatters) {
  const Picture picture(400, 60, 3, 4, 8);
  ResizeSpec spec{.in_width = 60, .in_height = 400, .out_width = 50, .out_height = 40};
  const auto adaptive = Resized(DetectSimdLevel(), spec, picture.image);
  spec.order = PassOrder::kHorizontalFirst;
  EXPECT_NE(Resized(DetectSimdLevel(), spec, picture.image), adaptive);
}

TEST(Resample, PassOrderByVersion) {
  EXPECT_EQ(PassOrderOfPillow("13.0.0"), PassOrder::kAdaptive);
  EXPECT_EQ(PassOrderOfPillow("14.1"), PassOrder::kAdaptive);
  EXPECT_EQ(PassOrderOfPillow("12.3.0"), PassOrder::kTallVerticalFirst);
  EXPECT_EQ(PassOrderOfPillow("12.2"), PassOrder::kTallVerticalFirst);
  EXPECT_EQ(PassOrderOfPillow("12.1.1"), PassOrder::kHorizontalFirst);
  EXPECT_EQ(PassOrderOfPillow(""), PassOrder::kHorizontalFirst);
  EXPECT_EQ(PassOrderOfPillow("9.5.0.post1"), PassOrder::kHorizontalFirst);
}

TEST(Resample, CachedAxesDoNotMixUp) {
  Resampler resampler;
  const Picture picture(60, 60, 3, 4, 8);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t size = 1; size < 40; ++size) {
      const ResizeSpec spec{
          .in_width = 60, .in_height = 60, .out_width = size, .out_height = 41 - size};
      ScratchBuffer memory;
      Image out;
      ASSERT_TRUE(
          resampler.Resize(spec, picture.image, std::nullopt, std::nullopt, memory, &out).ok());
      EXPECT_EQ(Packed(out), Resized(SimdLevel::kScalar, spec, picture.image)) << size;
    }
  }
}

}  // namespace
}  // namespace headrace::ops
