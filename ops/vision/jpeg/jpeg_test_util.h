#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>
// jpeglib.h needs what <cstdio> declares.
// clang-format off
#include <jpeglib.h>
// clang-format on

namespace headrace::ops {

struct JpegLayout {
  J_COLOR_SPACE space = JCS_YCbCr;
  int h = 1, v = 1;  // sampling of the first component
  bool progressive = false;
  int restart = 0;  // MCUs
  int quality = 75;
  bool own_tables = false;  // Huffman tables made for this file
  int noise = 50;           // what the picture's values differ by at random
};

// Encodes noise over a slope, from a fixed seed.
std::string EncodeJpeg(int width, int height, const JpegLayout& layout);
// Encodes packed `pixels`: 1 byte each for gray, 4 for CMYK and YCCK, else 3.
std::string EncodeJpeg(int width, int height, const JpegLayout& layout,
                       const std::vector<std::uint8_t>& pixels);

// Decodes a file with libjpeg alone, as PIL drives it: packed RGB, warnings ignored. nullopt:
// libjpeg gives up, or the file ends early. Only for files of one or three components.
std::optional<std::vector<std::uint8_t>> DecodeByLibjpeg(const std::string& file);

}  // namespace headrace::ops
