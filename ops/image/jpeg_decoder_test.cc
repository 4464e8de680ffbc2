#include "ops/image/jpeg_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>
// jpeglib.h needs what <cstdio> declares.
// clang-format off
#include <jpeglib.h>
// clang-format on

#include "ops/image/image_header.h"

namespace headrace::ops {
namespace {

struct Layout {
  J_COLOR_SPACE space = JCS_YCbCr;
  int h = 1, v = 1;  // sampling of the first component
  bool progressive = false;
  int restart = 0;
};

int Components(J_COLOR_SPACE space) {
  return space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK || space == JCS_YCCK ? 4 : 3;
}

std::string Encode(int width, int height, const Layout& layout) {
  const int components = Components(layout.space);
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = components;
  info.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, layout.space);
  info.comp_info[0].h_samp_factor = layout.h;
  info.comp_info[0].v_samp_factor = layout.v;
  info.restart_interval = static_cast<unsigned>(layout.restart);
  if (layout.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::mt19937 random(1);
  std::vector<JSAMPLE> row(static_cast<std::size_t>(width * components));
  for (int y = 0; y < height; ++y) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] =
          static_cast<JSAMPLE>((i * 3 + static_cast<std::size_t>(y) * 2 + random() % 50) & 255);
    }
    JSAMPROW at = row.data();
    jpeg_write_scanlines(&info, &at, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<const char*>(data), size);
  std::free(data);
  return file;
}

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
  for (std::int64_t y = 0; y < image.spec.height; ++y) {
    for (std::int64_t x = 0; x < image.spec.width; ++x) {
      const std::uint8_t* pixel = image.data + y * image.row_stride + x * image.pixel_stride;
      outcome.pixels.insert(outcome.pixels.end(), pixel, pixel + 3);
    }
  }
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

const Layout kLayouts[] = {{},
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
  for (const Layout& layout : kLayouts) {
    const std::string file = Encode(203, 151, layout);
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

TEST(JpegDecoder, TruncationBehindTheWindowIsNoticed) {
  JpegDecoder decoder;
  for (const Layout& layout : kLayouts) {
    const std::string file = Encode(80, 120, layout);
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
  const std::string file = Encode(40, 40, {});
  const Outcome outcome = Decode(decoder, file.substr(0, file.size() - 2), Window{0, 0, 2, 2});
  EXPECT_EQ(outcome.status.code(), Code::kUnsupported);
  EXPECT_THAT(outcome.status.message(), testing::HasSubstr("no end marker"));
}

TEST(JpegDecoder, DamageNeitherCrashesNorStays) {
  JpegDecoder decoder;
  std::mt19937 random(17);
  const std::string good = Encode(90, 70, {.h = 2, .v = 2});
  const std::vector<std::uint8_t> expected = Decode(decoder, good).pixels;
  for (const Layout& layout : kLayouts) {
    const std::string file = Encode(90, 70, layout);
    for (int i = 0; i < 300; ++i) {
      std::string damaged = file;
      for (int n = 0; n < 3; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
      // Not the sizes: a huge image is slow under sanitizers.
      const std::size_t frame = file.find(layout.progressive ? "\xFF\xC2" : "\xFF\xC0");
      damaged.replace(frame, 9, file, frame, 9);
      Decode(decoder, damaged, Window{20, 30, 25, 35});
    }
    EXPECT_EQ(Decode(decoder, good).pixels, expected);
  }
}

TEST(JpegDecoder, TablesOfOneFileDoNotServeTheNext) {
  JpegDecoder decoder;
  std::string file = Encode(16, 16, {});
  EXPECT_TRUE(Decode(decoder, file).status.ok());
  const std::size_t tables = file.find("\xFF\xDB");
  const std::size_t length = 2 + 67;  // marker, length, one table
  file.erase(tables, length);
  EXPECT_EQ(Decode(decoder, file).status.code(), Code::kDataLoss);
}

TEST(JpegDecoder, WindowsOutsideTheImageAreRefused) {
  JpegDecoder decoder;
  const std::string file = Encode(20, 10, {});
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const Window& window :
       {Window{0, 0, 0, 5}, Window{-1, 0, 5, 5}, Window{0, 16, 5, 5}, Window{6, 0, 5, 5},
        Window{0, 0, kHuge, 5}, Window{kHuge, kHuge, kHuge, kHuge}}) {
    EXPECT_EQ(Decode(decoder, file, window).status.code(), Code::kInvalidArgument);
  }
}

TEST(JpegDecoder, Header) {
  JpegDecoder decoder;
  const std::string file = Encode(33, 21, {.progressive = true});
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
