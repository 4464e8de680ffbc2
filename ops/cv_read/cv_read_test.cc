#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"
#include "ops/vision/jpeg/jpeg_test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kHeight = 37, kWidth = 51;

Node Read(const std::string& channels, bool ignore = false) {
  return MakeNode("cv_read",
                  {{"channels", channels}, {"ignore_orientation", std::int64_t{ignore ? 1 : 0}}});
}

struct Decoded {
  Status status;
  std::vector<std::uint8_t> pixels;
};

Decoded Decode(std::vector<Node> nodes, const std::string& file) {
  const ChainRunner runner = *ChainRunner::Make(
      std::make_shared<const Chain>(*Chain::Compile(std::move(nodes), Libraries(), {})));
  OpContext context;
  const Result<TensorSpec> shape =
      runner.OutputSpec({DType::kU8, Layout::kHwc, {kHeight, kWidth, 3}});
  if (!shape.ok()) return {shape.status(), {}};
  Decoded made{{}, std::vector<std::uint8_t>(shape->bytes())};
  made.status =
      runner.Run(AsBytes(file), {}, context, std::as_writable_bytes(std::span(made.pixels)));
  return made;
}

// The file with an Exif segment that says this orientation.
std::string Turned(const std::string& file, char orientation) {
  const std::vector<char> exif{
      '\xFF', '\xE1', 0,    34, 'E', 'x', 'i', 'f', 0, 0,               // the segment
      'I',    'I',    '*',  0,  8,   0,   0,   0,                       // TIFF
      1,      0,      0x12, 1,  3,   0,   1,   0,   0, 0, orientation,  // one entry
      0,      0,      0,    0,  0,   0,   0};
  return file.substr(0, 2) + std::string(exif.begin(), exif.end()) + file.substr(2);
}

TEST(CvRead, BgrIsRgbTurnedAround) {
  const std::string file = EncodeJpeg(kWidth, kHeight, {});
  const Decoded rgb = Decode({Read("RGB")}, file);
  Decoded bgr = Decode({Read("BGR")}, file);
  ASSERT_TRUE(rgb.status.ok() && bgr.status.ok()) << rgb.status.ToString();
  EXPECT_EQ(rgb.pixels, DecodeByLibjpeg(file));
  for (std::size_t at = 0; at < bgr.pixels.size(); at += 3) {
    std::swap(bgr.pixels[at], bgr.pixels[at + 2]);
  }
  EXPECT_EQ(bgr.pixels, rgb.pixels);
}

TEST(CvRead, GrayHasOneChannelAlsoAfterAnotherOperator) {
  const std::string file = EncodeJpeg(kWidth, kHeight, {.space = JCS_GRAYSCALE});
  const Decoded gray = Decode({Read("GRAY")}, file);
  ASSERT_TRUE(gray.status.ok()) << gray.status.ToString();
  const Decoded rgb = Decode({Read("RGB")}, file);
  ASSERT_EQ(gray.pixels.size(), std::size_t{kHeight} * kWidth);
  for (std::size_t at = 0; at < gray.pixels.size(); ++at) {
    ASSERT_EQ(gray.pixels[at], rgb.pixels[3 * at]);
  }
  Decoded mirrored =
      Decode({Read("GRAY"), MakeNode("flip", {{"axis", std::string("vertical")}})}, file);
  for (std::size_t y = 0; y < kHeight; ++y) {
    EXPECT_TRUE(std::equal(&mirrored.pixels[y * kWidth], &mirrored.pixels[(y + 1) * kWidth - 1],
                           &gray.pixels[(kHeight - 1 - y) * kWidth]));
  }
}

TEST(CvRead, AWindowHasThePixelsOfTheWhole) {
  const std::string file = EncodeJpeg(kWidth, kHeight, {.h = 2, .v = 2});
  const Decoded whole = Decode({Read("BGR")}, file);
  const Node crop = MakeNode("crop", {{"top", std::int64_t{5}},
                                      {"left", std::int64_t{9}},
                                      {"size", std::vector<std::int64_t>{20, 30}}});
  const Decoded part = Decode({Read("BGR"), crop}, file);
  ASSERT_TRUE(part.status.ok()) << part.status.ToString();
  for (std::size_t y = 0; y < 20; ++y) {
    EXPECT_TRUE(std::equal(&part.pixels[y * 90], &part.pixels[y * 90] + 90,
                           &whole.pixels[((y + 5) * kWidth + 9) * 3]));
  }
}

TEST(CvRead, PicturesThatExifTurnsAreLeftToTheProgram) {
  const std::string file = EncodeJpeg(kWidth, kHeight, {});
  EXPECT_TRUE(Decode({Read("BGR")}, Turned(file, 1)).status.ok());
  for (const char turned : {2, 3, 6, 8}) {
    const Status status = Decode({Read("BGR")}, Turned(file, turned)).status;
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr("Exif"));
    EXPECT_TRUE(Decode({Read("BGR", true)}, Turned(file, turned)).status.ok());
  }
}

TEST(CvRead, OtherColoursAreLeftToTheProgram) {
  for (const J_COLOR_SPACE space : {JCS_RGB, JCS_CMYK, JCS_YCCK}) {
    const std::string file = EncodeJpeg(kWidth, kHeight, {.space = space});
    EXPECT_EQ(Decode({Read("BGR")}, file).status.code(), Code::kUnsupported) << space;
  }
}

TEST(CvRead, ADamagedFileIsNoPicture) {
  const std::string file = EncodeJpeg(kWidth, kHeight, {});
  EXPECT_FALSE(Decode({Read("BGR")}, file.substr(0, file.size() / 2)).status.ok());
  EXPECT_FALSE(Decode({Read("GRAY")}, "GIF89a").status.ok());
}

TEST(CvRead, OnlyKnownChannels) {
  EXPECT_EQ(Chain::Compile({Read("BGRA")}, Libraries(), {}).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
