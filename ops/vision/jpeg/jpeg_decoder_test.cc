#include "ops/vision/jpeg/jpeg_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/vision/image_header.h"
#include "ops/vision/jpeg/jpeg_test_util.h"
#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

struct Outcome {
  Status status;
  std::vector<std::uint8_t> pixels;  // packed RGB
};

Outcome Decode(JpegDecoder& decoder, const std::string& file,
               const std::optional<Window>& window = std::nullopt,
               PixelFormat format = PixelFormat::kRgbx) {
  ScratchBuffer memory;
  Image image;
  Outcome outcome;
  outcome.status = decoder.DecodeRgb(AsBytes(file), window, format, memory, &image);
  if (!outcome.status.ok()) return outcome;
  outcome.pixels = Packed(image);
  return outcome;
}

std::vector<std::uint8_t> Cut(const std::vector<std::uint8_t>& pixels, std::int64_t width,
                              const Window& window) {
  std::vector<std::uint8_t> part;
  for (std::int64_t y = 0; y < window.height; ++y) {
    const auto row = pixels.begin() + ((window.top + y) * width + window.left) * 3;
    part.insert(part.end(), row, row + window.width * 3);
  }
  return part;
}

const JpegLayout kLayouts[] = {{},
                               {.h = 2},
                               {.h = 2, .v = 2},
                               {.v = 2},
                               {.h = 4},
                               {.h = 2, .v = 2, .progressive = true},
                               {.h = 2, .v = 2, .restart = 3},
                               {.space = JCS_GRAYSCALE},
                               {.space = JCS_RGB},
                               {.space = JCS_CMYK},
                               {.space = JCS_YCCK}};

TEST(JpegDecoder, WindowsEqualTheWholeImage) {
  JpegDecoder decoder;
  std::mt19937 random(5);
  for (const JpegLayout& layout : kLayouts) {
    const std::string file = EncodeJpeg(203, 151, layout);
    const Outcome whole = Decode(decoder, file);
    ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
    ASSERT_EQ(whole.pixels.size(), 203 * 151 * 3);
    EXPECT_EQ(Decode(decoder, file, std::nullopt, PixelFormat::kRgb).pixels, whole.pixels);
    for (int i = 0; i < 40; ++i) {
      Window window;
      window.left = random() % 203;
      window.top = random() % 151;
      window.width = 1 + random() % (203 - window.left);
      window.height = 1 + random() % (151 - window.top);
      const auto format = i % 2 == 0 ? PixelFormat::kRgb : PixelFormat::kRgbx;
      const Outcome part = Decode(decoder, file, window, format);
      ASSERT_TRUE(part.status.ok()) << part.status.ToString();
      EXPECT_EQ(part.pixels, Cut(whole.pixels, 203, window));
    }
  }
}

struct Trial {
  int width, height;
  JpegLayout layout;
  std::string file;
};

// Baseline files of every kind for which the decoder has its own entropy decoding.
Trial AnyBaselineFile(std::mt19937& random) {
  constexpr int kSampling[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
  auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Trial trial{.width = 1 + below(180), .height = 1 + below(140)};
  const auto& sampling = kSampling[below(5)];
  trial.layout = {.space = below(4) == 0 ? JCS_GRAYSCALE : JCS_YCbCr,
                  .restart = below(3) == 0 ? 1 + below(20) : 0,
                  .quality = 1 + below(100),
                  .own_tables = below(2) == 0,
                  .noise = 1 + below(256)};
  if (trial.layout.space != JCS_GRAYSCALE) {
    trial.layout.h = sampling[0];
    trial.layout.v = sampling[1];
  }
  trial.file = EncodeJpeg(trial.width, trial.height, trial.layout);
  return trial;
}

Window AnyWindow(int width, int height, std::mt19937& random) {
  Window window;
  window.left = random() % static_cast<unsigned>(width);
  window.top = random() % static_cast<unsigned>(height);
  window.width = 1 + random() % static_cast<unsigned>(width - window.left);
  window.height = 1 + random() % static_cast<unsigned>(height - window.top);
  return window;
}

TEST(JpegDecoder, EqualsLibjpegAlone) {
  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("--gtest_random_seed=" + std::to_string(seed));
  std::mt19937 random(seed);
  JpegDecoder decoder;  // one for all, as in a worker
  for (int i = 0; i < 300; ++i) {
    const Trial trial = AnyBaselineFile(random);
    const auto whole = DecodeByLibjpeg(trial.file);
    ASSERT_TRUE(whole.has_value());
    const Window window = AnyWindow(trial.width, trial.height, random);
    const Outcome part = Decode(decoder, trial.file, window);
    ASSERT_TRUE(part.status.ok()) << part.status.ToString();
    ASSERT_EQ(part.pixels, Cut(*whole, trial.width, window)) << "file " << i;
  }
}

// A file that is not refused has the pixels that PIL sees, however damaged it is.
TEST(JpegDecoder, DamagedFilesAreRefusedOrEqualLibjpegAlone) {
  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("--gtest_random_seed=" + std::to_string(seed));
  std::mt19937 random(seed + 1);
  JpegDecoder decoder;
  int taken = 0;
  for (int i = 0; i < 100; ++i) {
    const Trial trial = AnyBaselineFile(random);
    const std::size_t scan = trial.file.find("\xFF\xDA");
    for (int n = 0; n < 10; ++n) {
      std::string damaged = trial.file;
      const std::size_t at = scan + random() % (damaged.size() - scan);
      if (n % 5 == 0) {
        damaged.erase(at, 1 + random() % 3);
      } else {
        damaged[at] = static_cast<char>(damaged[at] ^ static_cast<int>(1U << random() % 8));
      }
      const Window window = AnyWindow(trial.width, trial.height, random);
      const Outcome part = Decode(decoder, damaged, window);
      if (!part.status.ok()) continue;
      ++taken;
      const auto whole = DecodeByLibjpeg(damaged);
      ASSERT_TRUE(whole.has_value()) << "file " << i;
      ASSERT_EQ(part.pixels, Cut(*whole, trial.width, window)) << "file " << i;
    }
  }
  EXPECT_GT(taken, 100);  // a changed bit often leaves a sound stream
}

TEST(JpegDecoder, TruncationBehindTheWindowIsNoticed) {
  JpegDecoder decoder;
  for (const JpegLayout& layout : kLayouts) {
    const std::string file = EncodeJpeg(80, 120, layout);
    for (std::size_t length = 0; length < file.size(); length += 7) {
      const Outcome outcome = Decode(decoder, file.substr(0, length), Window{0, 0, 2, 2});
      EXPECT_THAT(outcome.status.code(), testing::AnyOf(Code::kDataLoss, Code::kUnsupported))
          << length << " of " << file.size();
    }
    EXPECT_TRUE(Decode(decoder, file + "junk").status.ok());
  }
}

TEST(JpegDecoder, MissingEndMarkerIsLeftToPil) {
  JpegDecoder decoder;
  const std::string file = EncodeJpeg(40, 40, {});
  const Outcome outcome = Decode(decoder, file.substr(0, file.size() - 2), Window{0, 0, 2, 2});
  EXPECT_EQ(outcome.status.code(), Code::kUnsupported);
  EXPECT_THAT(outcome.status.message(), testing::HasSubstr("no end marker"));
}

TEST(JpegDecoder, DamageNeitherCrashesNorStays) {
  JpegDecoder decoder;
  std::mt19937 random(17);
  const std::string good = EncodeJpeg(90, 70, {.h = 2, .v = 2});
  const std::vector<std::uint8_t> expected = Decode(decoder, good).pixels;
  for (const JpegLayout& layout : kLayouts) {
    const std::string file = EncodeJpeg(90, 70, layout);
    for (int i = 0; i < 300; ++i) {
      std::string damaged = file;
      for (int n = 0; n < 3; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
      // Leaves the sizes unchanged: a huge image is slow under sanitizers.
      const std::size_t frame = file.find(layout.progressive ? "\xFF\xC2" : "\xFF\xC0");
      damaged.replace(frame, 9, file, frame, 9);
      Decode(decoder, damaged, Window{20, 30, 25, 35});
    }
    EXPECT_EQ(Decode(decoder, good).pixels, expected);
  }
}

TEST(JpegDecoder, TablesOfOneFileDoNotServeTheNext) {
  JpegDecoder decoder;
  std::string file = EncodeJpeg(16, 16, {});
  EXPECT_TRUE(Decode(decoder, file).status.ok());
  const std::size_t tables = file.find("\xFF\xDB");
  const std::size_t length = 2 + 67;  // marker, length, one table
  file.erase(tables, length);
  EXPECT_EQ(Decode(decoder, file).status.code(), Code::kDataLoss);
}

TEST(JpegDecoder, WindowsOutsideTheImageAreRefused) {
  JpegDecoder decoder;
  const std::string file = EncodeJpeg(20, 10, {});
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const Window& window :
       {Window{0, 0, 0, 5}, Window{-1, 0, 5, 5}, Window{0, 16, 5, 5}, Window{6, 0, 5, 5},
        Window{0, 0, kHuge, 5}, Window{kHuge, kHuge, kHuge, kHuge}}) {
    EXPECT_EQ(Decode(decoder, file, window).status.code(), Code::kInvalidArgument);
  }
}

std::vector<std::uint8_t> Whole(JpegDecoder& decoder, const std::string& file, Channels channels,
                                std::size_t bytes) {
  std::vector<std::uint8_t> pixels(bytes);
  const Status status =
      decoder.DecodeWhole(AsBytes(file), channels, std::as_writable_bytes(std::span(pixels)));
  EXPECT_TRUE(status.ok()) << status.ToString();
  return pixels;
}

TEST(JpegDecoder, WholeImagesInEveryOrder) {
  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("--gtest_random_seed=" + std::to_string(seed));
  std::mt19937 random(seed + 2);
  JpegDecoder decoder;
  for (int i = 0; i < 150; ++i) {
    const Trial trial = AnyBaselineFile(random);
    std::vector<std::uint8_t> expected = *DecodeByLibjpeg(trial.file);
    ASSERT_EQ(Whole(decoder, trial.file, Channels::kRgb, expected.size()), expected) << i;
    for (std::size_t at = 0; at < expected.size(); at += 3) {
      std::swap(expected[at], expected[at + 2]);
    }
    ASSERT_EQ(Whole(decoder, trial.file, Channels::kBgr, expected.size()), expected) << i;
  }
}

TEST(JpegDecoder, LumaIsWhatAGrayFileHolds) {
  JpegDecoder decoder;
  const std::string gray = EncodeJpeg(50, 40, {.space = JCS_GRAYSCALE});
  const auto luma = Whole(decoder, gray, Channels::kGray, 50 * 40);
  const auto rgb = Whole(decoder, gray, Channels::kRgb, 50 * 40 * 3);
  for (std::size_t i = 0; i < luma.size(); ++i) ASSERT_EQ(luma[i], rgb[3 * i + i % 3]);
}

TEST(JpegDecoder, WholeImagesThatLibrariesConvertInTheirOwnWaysAreRefused) {
  JpegDecoder decoder;
  std::vector<std::byte> out(60 * 50 * 3);
  for (const auto space : {JCS_RGB, JCS_CMYK, JCS_YCCK}) {
    const std::string file = EncodeJpeg(60, 50, {.space = space});
    EXPECT_EQ(decoder.DecodeWhole(AsBytes(file), Channels::kBgr, out).code(), Code::kUnsupported);
  }
  std::string file = EncodeJpeg(60, 50, {});
  EXPECT_TRUE(decoder.DecodeWhole(AsBytes(file), Channels::kBgr, out).ok());
  EXPECT_EQ(decoder.DecodeWhole(AsBytes(file), Channels::kGray, out).code(),
            Code::kInvalidArgument);
  file.resize(file.size() - 9);
  EXPECT_FALSE(decoder.DecodeWhole(AsBytes(file), Channels::kBgr, out).ok());
}

TEST(JpegDecoder, Form) {
  JpegDecoder decoder;
  const std::string file = EncodeJpeg(33, 21, {.h = 2, .v = 1, .progressive = true});
  const Result<JpegForm> form = decoder.ReadForm(AsBytes(file));
  ASSERT_TRUE(form.ok());
  EXPECT_EQ(form->header.width, 33);
  EXPECT_TRUE(form->header.progressive);
  EXPECT_EQ(form->sampling, 0x211111U);
  EXPECT_EQ(form->orientation, 0);
}

TEST(JpegDecoder, Header) {
  JpegDecoder decoder;
  const std::string file = EncodeJpeg(33, 21, {.progressive = true});
  const Result<JpegHeader> header = decoder.ReadHeader(AsBytes(file));
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->width, 33);
  EXPECT_EQ(header->height, 21);
  EXPECT_EQ(header->components, 3);
  EXPECT_TRUE(header->progressive);
  EXPECT_EQ(decoder.ReadHeader(AsBytes("GIF89a..")).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops
