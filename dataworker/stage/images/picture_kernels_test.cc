// The kernels against OpenCV itself (resize), and against the definition (order, warp, normalise).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "dataworker/stage/images/normal_numbers.h"
#include "dataworker/stage/images/normalize.h"
#include "dataworker/stage/images/pil_pixels.h"
#include "dataworker/stage/images/pixel_order.h"
#include "dataworker/stage/images/planes.h"
#include "ops/vision/opencv/opencv_resize.h"
#include "ops/vision/opencv/opencv_warp.h"

namespace headrace::images {
namespace {

constexpr unsigned kSeed = 20261125;

class PictureKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasKernels()) GTEST_SKIP() << "no AVX2 here, where libraries do everything";
    cv::setNumThreads(1);
    RecordProperty("seed", static_cast<int>(kSeed));
  }

  int Draw(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  // A picture that ends where its memory ends, in rows with or without gaps.
  Pixels Picture(int height, int width) {
    const int stride = 3 * width + (Draw(0, 1) == 0 ? 0 : Draw(1, 20));
    memory_.assign(static_cast<std::size_t>((height - 1) * stride + 3 * width), 0);
    memory_.shrink_to_fit();
    const bool rough = Draw(0, 3) == 0;
    for (auto& byte : memory_)
      byte = static_cast<std::uint8_t>(rough ? 255 * Draw(0, 1) : Draw(0, 255));
    return {memory_.data(), height, width, stride};
  }

  static cv::Mat MatOf(const Pixels& in) {
    return {static_cast<int>(in.height), static_cast<int>(in.width), CV_8UC3,
            const_cast<std::uint8_t*>(in.data), static_cast<std::size_t>(in.stride)};
  }

  std::mt19937 random_{kSeed};
  std::vector<std::uint8_t> memory_;
};

// legacy_gauss by the definition, from the standard library's twister.
class Gauss {
 public:
  explicit Gauss(std::uint32_t seed) : twister_(seed) {}

  double Next() {
    if (kept_) return *std::exchange(kept_, std::nullopt);
    double x = 0;
    double y = 0;
    double square = 0;
    do {
      x = 2.0 * Uniform() - 1.0;
      y = 2.0 * Uniform() - 1.0;
      square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    const double factor = std::sqrt(-2.0 * std::log(square) / square);
    kept_ = factor * x;
    return factor * y;
  }

  std::uint32_t Word() { return static_cast<std::uint32_t>(twister_()); }

 private:
  double Uniform() {
    const std::uint32_t a = Word() >> 5;
    const std::uint32_t b = Word() >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
  }

  std::mt19937 twister_;
  std::optional<double> kept_;
};

TEST_F(PictureKernels, NormalNumbersAreThoseOfTheDefinition) {
  for (int i = 0; i < 300; ++i) {
    const auto seed = static_cast<std::uint32_t>(random_());
    std::array<std::uint32_t, 624> words{};
    words[0] = seed;
    for (std::uint32_t k = 1; k < words.size(); ++k) {
      words[k] = 1812433253U * (words[k - 1] ^ (words[k - 1] >> 30)) + k;
    }
    Gauss gauss(seed);
    std::uint32_t next = 624;
    for (int call = 0; call < 4; ++call) {
      std::vector<double> made(2 * static_cast<std::size_t>(Draw(0, 1200)));
      const double mean = Draw(-3, 3);
      const double deviation = 0.25 * Draw(1, 9) + 1e-3;
      DrawNormals({words, next}, mean, deviation, made);
      for (const double one : made) ASSERT_EQ(one, mean + deviation * gauss.Next()) << i;
    }
    std::vector<double> one(2);
    DrawNormals({words, next}, 0, 1, one);  // the generator stands where the definition's does
    ASSERT_EQ(one[0], gauss.Next()) << i;
  }
}

TEST_F(PictureKernels, ResizesAreOpenCvs) {
  int linear = 0;
  int area = 0;
  for (int i = 0; i < 1500; ++i) {
    const int most = i % 4 == 0 ? 9 : 150;
    const Pixels in = Picture(Draw(1, most), Draw(1, most));
    const int height = i % 10 == 1 ? static_cast<int>(in.height) : Draw(1, most);
    const int width = i % 10 == 2 ? static_cast<int>(in.width) : Draw(1, most);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * height * width), 77);
    const auto equals = [&](int interpolation) {
      cv::Mat expected;
      cv::resize(MatOf(in), expected, {width, height}, 0, 0, interpolation);
      return std::memcmp(out.data(), expected.data, out.size()) == 0;
    };
    if (ResizeLinear(in, height, width, out.data())) {
      ++linear;
      ASSERT_TRUE(equals(cv::INTER_LINEAR)) << i << ": " << in.height << "x" << in.width << " to "
                                            << height << "x" << width << ", seed " << kSeed;
    }
    if (ResizeArea(in, height, width, out.data())) {
      ++area;
      ASSERT_TRUE(equals(cv::INTER_AREA)) << i << ": " << in.height << "x" << in.width << " to "
                                          << height << "x" << width << ", seed " << kSeed;
    }
  }
  EXPECT_GT(linear, 1000);
  EXPECT_GT(area, 250);
}

// Some columns then have a thousandth of a pixel or less, which OpenCV leaves out.
TEST_F(PictureKernels, MeansOfNearlyWholePixelsAreOpenCvs) {
  for (const int more : {1, 2, 3, 7}) {
    const int width = 2000;
    const Pixels in = Picture(3, width + more);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * 2 * width));
    ASSERT_TRUE(ResizeArea(in, 2, width, out.data()));
    cv::Mat expected;
    cv::resize(MatOf(in), expected, {width, 2}, 0, 0, cv::INTER_AREA);
    EXPECT_EQ(std::memcmp(out.data(), expected.data, out.size()), 0) << more << ", seed " << kSeed;
  }
}

TEST_F(PictureKernels, ResizesLeaveOtherCodesSizesAlone) {
  std::vector<std::uint8_t> out(3 * 60 * 60, 77);
  const std::vector<std::uint8_t> untouched = out;
  for (const auto& [height, width] : {std::pair(20, 30), {10, 15}, {5, 10}, {20, 10}}) {
    const Pixels in = Picture(20, 30);
    EXPECT_FALSE(ResizeLinear(in, height, width, out.data())) << height << "x" << width;
    EXPECT_FALSE(ResizeArea(in, height, width, out.data())) << height << "x" << width;
  }
  EXPECT_FALSE(ResizeArea(Picture(20, 30), 21, 29, out.data()));
  EXPECT_FALSE(ResizeArea(Picture(20, 30), 19, 31, out.data()));
  EXPECT_FALSE(ResizeLinear(Picture(20, 1), 7, 7, out.data()));
  EXPECT_EQ(out, untouched);
}

TEST_F(PictureKernels, CopiesInEachOrder) {
  for (int i = 0; i < 400; ++i) {
    Pixels in = Picture(Draw(1, 9), Draw(1, i % 3 == 0 ? 8 : 90));
    const Order order{Draw(0, 1) == 0, Draw(0, 1) == 0, Draw(0, 1) == 0};
    if (Draw(0, 1) == 0) {
      in.data += (in.height - 1) * in.stride;
      in.stride = -in.stride;
    }
    std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * in.height * in.width));
    CopyPixels(in, order, out.data());
    for (std::ptrdiff_t y = 0; y < in.height; ++y) {
      for (std::ptrdiff_t x = 0; x < in.width; ++x) {
        for (int c = 0; c < 3; ++c) {
          const auto at =
              order.planar ? (c * in.height + y) * in.width + x : 3 * (y * in.width + x) + c;
          const auto from_x = order.mirrored ? in.width - 1 - x : x;
          const auto from = y * in.stride + 3 * from_x + (order.reversed ? 2 - c : c);
          ASSERT_EQ(out[at], in.data[from]) << i << ", seed " << kSeed;
        }
      }
    }
  }
}

TEST_F(PictureKernels, MakesPlanesOfElementsOfOneAndOfFourBytes) {
  for (int i = 0; i < 400; ++i) {
    const std::ptrdiff_t element = i % 2 == 0 ? 1 : 4;
    const std::ptrdiff_t rows = Draw(1, 7);
    const std::ptrdiff_t width = Draw(1, i % 3 == 0 ? 9 : 70);
    const std::ptrdiff_t stride = element * (3 * width + Draw(0, 1) * Draw(1, 5));
    // Ends where the last pixel ends.
    std::vector<std::byte> in(static_cast<std::size_t>((rows - 1) * stride + 3 * width * element));
    for (auto& byte : in) byte = static_cast<std::byte>(Draw(0, 255));
    const std::ptrdiff_t plane = rows * width * element;
    std::vector<std::byte> out(static_cast<std::size_t>(3 * plane));
    ToPlanes({in.data(), rows, width, stride, static_cast<std::size_t>(element)}, out.data());
    for (std::ptrdiff_t at = 0; at < 3 * plane; ++at) {
      const std::ptrdiff_t pixel = at % plane / element;
      const std::ptrdiff_t from =
          pixel / width * stride + (3 * (pixel % width) + at / plane) * element + at % element;
      ASSERT_EQ(out[at], in[from]) << i << ", seed " << kSeed;
    }
  }
}

TEST_F(PictureKernels, GoesBetweenThreeBytesAndFour) {
  for (std::size_t pixels = 0; pixels < 70; ++pixels) {
    std::vector<std::uint8_t> four(4 * pixels);
    for (auto& byte : four) byte = static_cast<std::uint8_t>(Draw(0, 255));
    std::vector<std::uint8_t> three(3 * pixels);
    PackRgb(four.data(), pixels, three.data());
    std::vector<std::uint8_t> back(4 * pixels);
    UnpackRgb(three.data(), pixels, back.data());
    for (std::size_t i = 0; i < 4 * pixels; ++i) {
      if (i % 4 < 3) {
        ASSERT_EQ(three[i / 4 * 3 + i % 4], four[i]) << pixels << ", seed " << kSeed;
      }
      ASSERT_EQ(back[i], i % 4 < 3 ? four[i] : 255) << pixels << ", seed " << kSeed;
    }
  }
}

TEST_F(PictureKernels, NormalisesWithARoundingAfterEachStep) {
  const std::array<float, 3> mean{123.675F, 116.28F, 103.53F};
  const std::array<float, 3> factor{0.0171247538F, 0.0175070028F, 0.0174291939F};
  for (int pixels = 1; pixels < 60; ++pixels) {
    const Pixels in = Picture(1, pixels);
    std::vector<float> out(static_cast<std::size_t>(3 * pixels));
    NormalizePixels(in.data, static_cast<std::size_t>(pixels), mean, factor, out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float difference = static_cast<float>(in.data[i]) - mean[i % 3];
      ASSERT_EQ(out[i], difference * factor[i % 3]) << i << ", seed " << kSeed;
    }
  }
}

TEST_F(PictureKernels, SubtractsAndDividesWithARoundingAfterEachStep) {
  for (std::size_t channels = 1; channels <= kMostInterleaved; ++channels) {
    for (int i = 0; i < 40; ++i) {
      const auto plane = static_cast<std::size_t>(Draw(1, 70));
      const auto images = static_cast<std::size_t>(Draw(1, 3));
      std::vector<float> in(plane * channels * images);
      std::vector<float> means(channels);
      std::vector<float> deviations(channels);
      std::uniform_real_distribution<float> any(-300, 300);
      for (auto* values : {&in, &means, &deviations}) {
        for (float& value : *values) value = any(random_);
      }
      std::vector<float> planes(in.size());
      std::vector<float> interleaved(in.size());
      const Deviations by{means, deviations};
      NormalizePlanes(in, plane, by, planes.data());
      NormalizeInterleaved(in, by, interleaved.data());
      for (std::size_t at = 0; at < in.size(); ++at) {
        const auto wanted = [&](std::size_t c) {
          const float difference = in[at] - means[c];
          return difference / deviations[c];
        };
        ASSERT_EQ(planes[at], wanted(at / plane % channels)) << at << ", seed " << kSeed;
        ASSERT_EQ(interleaved[at], wanted(at % channels)) << at << ", seed " << kSeed;
      }
      NormalizePlanes(in, plane, by, in.data());  // in place
      ASSERT_EQ(in, planes);
    }
  }
}

// One value by the definition, in float32, with OpenCV's fused products.
std::uint8_t Warped(const Pixels& in, const Warp& warp, int x, int y, int c) {
  float m[6];
  std::ranges::copy(warp.matrix, m);
  const auto place = [&](const float* row) {
    const float begin = static_cast<float>(y) * row[1];
    return std::fma(row[0], static_cast<float>(x), begin + row[2]);
  };
  const float at_x = place(m);
  const float at_y = place(m + 3);
  const auto pixel = [&](int column, int row) -> float {
    const bool inside = column >= 0 && column < in.width && row >= 0 && row < in.height;
    if (!inside && warp.border == Border::kConstant) return warp.outside[c];
    const int kind = warp.border == Border::kReplicate ? cv::BORDER_REPLICATE
                     : warp.border == Border::kReflect ? cv::BORDER_REFLECT
                                                       : cv::BORDER_REFLECT_101;
    const int from_x = cv::borderInterpolate(column, static_cast<int>(in.width), kind);
    const int from_y = cv::borderInterpolate(row, static_cast<int>(in.height), kind);
    return in.data[from_y * in.stride + 3 * from_x + c];
  };
  const auto column = static_cast<int>(std::floor(at_x));
  const auto row = static_cast<int>(std::floor(at_y));
  const float right = at_x - static_cast<float>(column);
  const float below = at_y - static_cast<float>(row);
  const auto between = [](float from, float to, float part) {
    return std::fma(part, to - from, from);
  };
  const float upper = between(pixel(column, row), pixel(column + 1, row), right);
  const float lower = between(pixel(column, row + 1), pixel(column + 1, row + 1), right);
  return cv::saturate_cast<std::uint8_t>(between(upper, lower, below));
}

TEST_F(PictureKernels, WarpsByTheDefinition) {
  for (int i = 0; i < 200; ++i) {
    const Pixels in = Picture(Draw(1, 40), Draw(1, 40));
    const int height = Draw(1, 20);
    const int width = 16 * Draw(1, 3);
    const double angle = Draw(0, 628) / 100.0;
    const double zoom = Draw(3, 30) / 10.0;
    const Warp warp{{zoom * std::cos(angle), -zoom * std::sin(angle), Draw(-300, 600) / 10.0,
                     zoom * std::sin(angle), zoom * std::cos(angle), Draw(-300, 600) / 10.0},
                    static_cast<Border>(Draw(0, 3)),
                    {7, 130, 255}};
    std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * height * width));
    ASSERT_TRUE(WarpLinear(in, warp, height, width, out.data()));
    for (int at = 0; at < 3 * height * width; ++at) {
      const int x = at / 3 % width;
      const int y = at / 3 / width;
      ASSERT_EQ(out[at], Warped(in, warp, x, y, at % 3))
          << i << ": " << x << ", " << y << ", seed " << kSeed;
    }
  }
}

TEST_F(PictureKernels, WarpRefusesRestsOfRowsAndFarPlaces) {
  const Pixels in = Picture(9, 9);
  Warp warp{{1, 0, 0, 0, 1, 0}, Border::kConstant, {}};
  std::vector<std::uint8_t> out(3 * 4 * 40);
  EXPECT_FALSE(WarpLinear(in, warp, 4, 40, out.data()));
  EXPECT_TRUE(WarpLinear(in, warp, 4, 32, out.data()));
  for (const double far : {1e7, -1e7, std::nan(""), HUGE_VAL}) {
    warp.matrix[2] = far;
    EXPECT_FALSE(WarpLinear(in, warp, 4, 32, out.data())) << far;
  }
}

TEST_F(PictureKernels, AMatrixWithoutInverseLeadsToOnePlace) {
  const std::array<double, 6> inverse = Inverted({0, 0, 5, 0, 0, 7});
  EXPECT_EQ(inverse, (std::array<double, 6>{}));
}

}  // namespace
}  // namespace headrace::images
