#include "ops/vision/png/png_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <vector>

#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

std::string BigEndian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Chunk(const std::string& name, const std::string& data) {
  const std::string body = name + data;
  return BigEndian(static_cast<std::uint32_t>(data.size())) + body +
         BigEndian(static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                    static_cast<uInt>(body.size()))));
}

std::string Deflate(const std::string& data) {
  uLongf size = compressBound(data.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
           data.size());
  out.resize(size);
  return out;
}

std::string Header(std::uint32_t width, std::uint32_t height, char depth, char color) {
  return Chunk("IHDR",
               BigEndian(width) + BigEndian(height) + std::string{depth, color, '\0', '\0', '\0'});
}

const std::string kSignature = "\x89PNG\r\n\x1A\n";
const std::string kEnd = Chunk("IEND", "");

// 2 x 2 pixels, rows without filters.
std::string File(char depth, char color, const std::string& row0, const std::string& row1,
                 const std::string& between = "", const std::string& behind = "") {
  const std::string rows = std::string(1, '\0') + row0 + std::string(1, '\0') + row1;
  return kSignature + Header(2, 2, depth, color) + between + Chunk("IDAT", Deflate(rows)) + behind +
         kEnd;
}

struct Outcome {
  Status status;
  std::vector<std::uint8_t> pixels;  // packed RGB
};

Outcome Decode(const std::string& file, PixelFormat format = PixelFormat::kRgbx) {
  PngDecoder decoder;
  ScratchBuffer memory;
  Image image;
  Outcome outcome;
  outcome.status = decoder.DecodeRgb(AsBytes(file), format, memory, &image);
  if (!outcome.status.ok()) return outcome;
  outcome.pixels = Packed(image);
  return outcome;
}

void ExpectPixels(const std::string& file, const std::vector<std::uint8_t>& expected) {
  for (const PixelFormat format : {PixelFormat::kRgb, PixelFormat::kRgbx}) {
    const Outcome outcome = Decode(file, format);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.ToString();
    EXPECT_EQ(outcome.pixels, expected);
  }
}

const std::string kPalette = Chunk("PLTE", "\x01\x02\x03\x0A\x0B\x0C");

TEST(PngDecoder, Kinds) {
  ExpectPixels(File(8, 2, "abcdef", "ghijkl"),
               {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'});
  ExpectPixels(File(8, 6, "abc!def!", "ghi!jkl!"),
               {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'});
  const std::vector<std::uint8_t> gray = {'a', 'a', 'a', 'b', 'b', 'b',
                                          'c', 'c', 'c', 'd', 'd', 'd'};
  ExpectPixels(File(8, 0, "ab", "cd"), gray);
  ExpectPixels(File(8, 4, "a!b!", "c!d!"), gray);
  ExpectPixels(File(16, 4, "a0!!b1!!", "c2!!d3!!"), gray);
  ExpectPixels(File(1, 0, "\x40", "\x80"), {0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0});
  ExpectPixels(File(2, 0, "\x10", "\xB0"), {0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255});
  ExpectPixels(File(4, 0, "\x1F", "\x20"), {17, 17, 17, 255, 255, 255, 34, 34, 34, 0, 0, 0});
  ExpectPixels(File(1, 3, "\x40", "\x80", kPalette), {1, 2, 3, 10, 11, 12, 10, 11, 12, 1, 2, 3});
}

TEST(PngDecoder, LeftToPil) {
  const std::string gray_row("\0\1\0\2", 4);
  EXPECT_EQ(Decode(File(16, 0, gray_row, gray_row)).status.code(), Code::kUnsupported);
  // An index without a colour.
  EXPECT_EQ(Decode(File(2, 3, "\x30", "\x10", kPalette)).status.code(), Code::kUnsupported);
  for (const std::string& chunk :
       {Chunk("acTL", std::string("\0\0\0\1\0\0\0\0", 8)), Chunk("tEXt", std::string("bbox\0x", 6)),
        Chunk("gAMA", "abc"), Chunk("tRNS", "abc"), Chunk("ABCD", "")}) {
    EXPECT_EQ(Decode(File(8, 0, "ab", "cd", chunk)).status.code(), Code::kUnsupported);
  }
}

TEST(PngDecoder, TextsAndProfilesThatInflateTooFarAreLeftToPil) {
  const std::string small = Deflate(std::string(1000, 'x'));
  const std::string bomb = Deflate(std::string(3 << 20, 'x'));
  const std::string zero(1, '\0');
  EXPECT_TRUE(Decode(File(8, 0, "ab", "cd", Chunk("iCCP", "a" + zero + zero + small))).status.ok());
  for (const std::string& chunk :
       {Chunk("iCCP", "a" + zero + zero + bomb), Chunk("zTXt", "a" + zero + zero + bomb),
        Chunk("iTXt", "a" + zero + "\1" + zero + zero + zero + bomb)}) {
    EXPECT_EQ(Decode(File(8, 0, "ab", "cd", chunk)).status.code(), Code::kUnsupported);
  }
}

TEST(PngDecoder, HarmlessChunksAreSkipped) {
  ExpectPixels(
      File(8, 0, "ab", "cd", Chunk("gAMA", "abcd") + Chunk("prIv", "?") + Chunk("tRNS", "ab"),
           Chunk("tIME", "1234567")),
      {'a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c', 'd', 'd', 'd'});
}

TEST(PngDecoder, TruncationIsDataLoss) {
  const std::string file = File(8, 0, "ab", "cd");
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(Decode(file.substr(0, length)).status.code(), Code::kDataLoss) << length;
  }
}

TEST(PngDecoder, TooFewPixelsAreRefused) {
  const std::string file =
      kSignature + Header(2, 2, 8, 0) + Chunk("IDAT", Deflate(std::string("\0ab", 3))) + kEnd;
  EXPECT_EQ(Decode(file).status.code(), Code::kDataLoss);
}

TEST(PngDecoder, DamageDoesNotCrash) {
  std::mt19937 random(23);
  const std::string file = File(1, 3, "\x40", "\x80", kPalette);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = file;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (damaged.compare(0, 24, file, 0, 24) == 0) Decode(damaged);
  }
}

}  // namespace
}  // namespace headrace::ops
