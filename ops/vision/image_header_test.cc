#include "ops/vision/image_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace headrace::ops {
namespace {

std::string Segment(int marker, const std::string& content) {
  const auto length = content.size() + 2;
  return std::string{'\xFF', static_cast<char>(marker), static_cast<char>(length >> 8),
                     static_cast<char>(length & 255)} +
         content;
}

std::string Frame(int marker, int width, int height, int components) {
  std::string content{'\x08',
                      static_cast<char>(height >> 8),
                      static_cast<char>(height & 255),
                      static_cast<char>(width >> 8),
                      static_cast<char>(width & 255),
                      static_cast<char>(components)};
  for (int c = 0; c < components; ++c) content += {static_cast<char>(c + 1), '\x11', '\0'};
  return Segment(marker, content);
}

const std::string kStart = "\xFF\xD8";
const std::string kScan = Segment(0xDA, std::string("\x01\x01\x00\x00\x3F\x00", 6));
const std::string kPng(
    "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x07\x08\x06\0\0\0\xC0\xA7\x87\xEE", 33);

ImageHeader Read(const std::string& file) {
  const Result<ImageHeader> header = ReadImageHeader(AsBytes(file));
  EXPECT_TRUE(header.ok()) << header.status().ToString();
  return header.ok() ? *header : ImageHeader{};
}

Code CodeOf(const std::string& file) { return ReadImageHeader(AsBytes(file)).status().code(); }

TEST(ImageHeader, Jpeg) {
  const ImageHeader header =
      Read(kStart + Segment(0xE0, std::string("JFIF\0\1\1\0\0\1\0\1\0\0", 14)) +
           Frame(0xC0, 500, 375, 3) + kScan);
  EXPECT_EQ(header.need_bytes, 0);
  EXPECT_EQ(header.format, ImageFormat::kJpeg);
  EXPECT_EQ(header.width, 500);
  EXPECT_EQ(header.height, 375);
  EXPECT_EQ(header.channels, 3);
  EXPECT_FALSE(header.progressive);
  EXPECT_TRUE(Read(kStart + Frame(0xC2, 5, 3, 1) + kScan).progressive);
}

TEST(ImageHeader, AsksForMoreUntilItKnows) {
  const std::string file =
      kStart + Segment(0xE1, std::string(60000, 'x')) + Frame(0xC0, 5, 3, 1) + kScan;
  std::size_t have = 0;
  int questions = 0;
  for (ImageHeader header = Read(""); header.need_bytes > 0;
       header = Read(file.substr(0, have)), ++questions) {
    ASSERT_GT(header.need_bytes, have);
    ASSERT_LE(header.need_bytes, file.size());
    have = header.need_bytes;
  }
  EXPECT_LT(questions, 12);
}

TEST(ImageHeader, PaddingBeforeMarkersIsSkipped) {
  EXPECT_EQ(Read(kStart + "\xFF\xFF\xFF" + Frame(0xC1, 5, 3, 1) + kScan).width, 5);
}

TEST(ImageHeader, OddJpegFilesAreLeftToPil) {
  EXPECT_EQ(CodeOf(kStart + "\xFF\xE0" + std::string(2, '\0') + kScan), Code::kUnsupported);
  EXPECT_EQ(CodeOf(kStart + "\xFFjunk" + kScan), Code::kDataLoss);
  EXPECT_EQ(CodeOf(kStart + Segment(0xFE, "x") + "stray" + kScan), Code::kUnsupported);
  EXPECT_EQ(CodeOf(kStart + Frame(0xC9, 5, 3, 3) + kScan), Code::kUnsupported);
  EXPECT_EQ(CodeOf(kStart + Frame(0xC3, 5, 3, 3) + kScan), Code::kUnsupported);
  EXPECT_EQ(CodeOf(kStart + Frame(0xC0, 5, 3, 3) + Frame(0xC0, 5, 3, 3) + kScan),
            Code::kUnsupported);
  EXPECT_EQ(CodeOf(kStart + Frame(0xC0, 20000, 20000, 3) + kScan), Code::kUnsupported);
}

TEST(ImageHeader, JpegFilesThatPilDoesNotOpen) {
  EXPECT_EQ(CodeOf(kStart + Frame(0xC0, 5, 3, 2) + kScan), Code::kDataLoss);
  EXPECT_EQ(CodeOf(kStart + Frame(0xC0, 0, 3, 3) + kScan), Code::kDataLoss);
  EXPECT_EQ(CodeOf(kStart + kScan + "12345678"), Code::kDataLoss);
  EXPECT_EQ(CodeOf(kStart + Segment(0xE0, "JFIF") + kScan), Code::kDataLoss);
}

TEST(ImageHeader, Png) {
  const ImageHeader header = Read(kPng);
  EXPECT_EQ(header.need_bytes, 0);
  EXPECT_EQ(header.format, ImageFormat::kPng);
  EXPECT_EQ(header.width, 5);
  EXPECT_EQ(header.height, 7);
  EXPECT_EQ(header.channels, 4);
  EXPECT_EQ(Read(kPng.substr(0, 20)).need_bytes, 33);
}

TEST(ImageHeader, DamagedPngIsRefused) {
  std::string damaged = kPng;
  damaged[19] = 6;
  EXPECT_EQ(CodeOf(damaged), Code::kDataLoss);
  damaged = kPng;
  damaged[12] = 'X';
  EXPECT_EQ(CodeOf(damaged), Code::kUnsupported);
}

TEST(ImageHeader, OtherFormatsAreUnsupported) {
  EXPECT_EQ(CodeOf("GIF89a.........."), Code::kUnsupported);
  EXPECT_EQ(CodeOf("BM"), Code::kUnsupported);
  EXPECT_EQ(CodeOf("RIFF1234WEBPVP8 "), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops
