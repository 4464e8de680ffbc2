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
std::string Rows(const std::string& row0, const std::string& row1) {
  return std::string(1, '\0') + row0 + std::string(1, '\0') + row1;
}
std::string File(char depth, char color, const std::string& row0, const std::string& row1,
                 const std::string& between = "", const std::string& behind = "") {
  return kSignature + Header(2, 2, depth, color) + between +
         Chunk("IDAT", Deflate(Rows(row0, row1))) + behind + kEnd;
}
// 2 x 2 gray pixels.
std::string GrayFile(const std::string& chunks) {
  return kSignature + Header(2, 2, 8, 0) + chunks + kEnd;
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
  outcome.status = decoder.DecodeRgb(AsBytes(file), {}, format, memory, &image);
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

TEST(PngDecoder, SixteenBitGrayIsCutOff) {
  using namespace std::string_literals;  // NOLINT(build/namespaces)
  ExpectPixels(File(16, 0, "\0\x07\0\xFF"s, "\1\0\xFF\xFE"s),
               {7, 7, 7, 255, 255, 255, 255, 255, 255, 255, 255, 255});
}

TEST(PngDecoder, Windows) {
  const std::string file = File(8, 2, "abcdef", "ghijkl");
  PngDecoder decoder;
  ScratchBuffer memory;
  Image image;
  const auto decode = [&](const Window& window) {
    return decoder.DecodeRgb(AsBytes(file), window, PixelFormat::kRgbx, memory, &image);
  };
  ASSERT_TRUE(decode({1, 0, 1, 1}).ok());
  EXPECT_EQ(Packed(image), (std::vector<std::uint8_t>{'g', 'h', 'i'}));
  ASSERT_TRUE(decode({0, 1, 2, 1}).ok());
  EXPECT_EQ(Packed(image), (std::vector<std::uint8_t>{'d', 'e', 'f', 'j', 'k', 'l'}));
  for (const Window& outside : {Window{0, 0, 3, 1}, Window{0, -1, 1, 1}, Window{0, 0, 0, 1}}) {
    EXPECT_EQ(decode(outside).code(), Code::kInvalidArgument);
  }
}

TEST(PngDecoder, ChecksWhatLiesOutsideOfTheWindow) {
  const std::string file = GrayFile(Chunk("IDAT", Deflate(std::string("\0ab\5cd", 6))));
  PngDecoder decoder;
  ScratchBuffer memory;
  Image image;
  EXPECT_EQ(decoder.DecodeRgb(AsBytes(file), Window{0, 0, 1, 1}, PixelFormat::kRgb, memory, &image),
            DataLoss("PNG: filter 5"));
}

TEST(PngDecoder, PixelsInSeveralChunks) {
  const std::string stream = Deflate(Rows("ab", "cd"));
  std::string chunks = Chunk("IDAT", "");
  for (const char byte : stream) chunks += Chunk("IDAT", std::string(1, byte));
  ExpectPixels(GrayFile(chunks), {'a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c', 'd', 'd', 'd'});
}

TEST(PngDecoder, ChecksumsAsPil) {
  std::string stream = Deflate(Rows("ab", "cd"));
  std::string chunk = Chunk("IDAT", stream);
  chunk.back() = static_cast<char>(chunk.back() ^ 1);  // PIL does not look at it
  EXPECT_TRUE(Decode(GrayFile(chunk)).status.ok());
  EXPECT_EQ(Decode(GrayFile(Chunk("IDAT", stream + "x"))).status,
            DataLoss("PNG: bytes after the pixels"));
  stream.back() = static_cast<char>(stream.back() ^ 1);
  EXPECT_EQ(Decode(GrayFile(Chunk("IDAT", stream))).status, DataLoss("PNG: damaged pixels"));
}

TEST(PngDecoder, ManyPixelsOfFewBytesAreRefusedBeforeMemoryIsTaken) {
  const std::string file = kSignature + Header(9000, 9000, 16, 6) +
                           Chunk("IDAT", Deflate(std::string(1000, '\0'))) + kEnd;
  EXPECT_EQ(Decode(file).status, DataLoss("PNG: too few bytes for its pixels"));
}

TEST(PngDecoder, LeftToPil) {
  // An index without a colour.
  EXPECT_EQ(Decode(File(2, 3, "\x30", "\x10", kPalette)).status.code(), Code::kUnsupported);
  for (const std::string& chunk :
       {Chunk("acTL", std::string("\0\0\0\1\0\0\0\0", 8)), Chunk("tEXt", std::string("bbox\0x", 6)),
        Chunk("gAMA", "abc"), Chunk("tRNS", "abc"), Chunk("ABCD", ""), kPalette}) {
    EXPECT_EQ(Decode(File(8, 0, "ab", "cd", chunk)).status.code(), Code::kUnsupported);
  }
  for (const std::string& chunk : {std::string(), Chunk("PLTE", ""), Chunk("PLTE", "abcd")}) {
    EXPECT_EQ(Decode(File(8, 3, std::string(2, '\0'), "cd", chunk)).status,
              Unsupported(chunk.empty() ? "PNG: no palette" : "PNG: palette"));
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
