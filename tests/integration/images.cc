#include "tests/integration/images.h"

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

// Needs FILE and size_t to be there already.
#include <jpeglib.h>

#include "base/check.h"

namespace headrace::testing_support {
namespace {

namespace fs = std::filesystem;

void WriteJpeg(const std::string& path, int width, int height, std::mt19937& random) {
  std::vector<JSAMPLE> row(static_cast<std::size_t>(width) * 3);
  const auto fx = static_cast<int>(random() % 7) + 1, fy = static_cast<int>(random() % 5) + 1;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  HR_CHECK(file != nullptr);
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 85, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      JSAMPLE* pixel = &row[static_cast<std::size_t>(x) * 3];
      pixel[0] = static_cast<JSAMPLE>(x * fx + random() % 16);
      pixel[1] = static_cast<JSAMPLE>(y * fy + random() % 16);
      pixel[2] = static_cast<JSAMPLE>((x ^ y) + random() % 16);
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::fclose(file);
}

}  // namespace

void MakeImages(const std::string& folder, int classes, int per_class) {
  std::mt19937 random(1);
  for (int c = 0; c < classes; ++c) {
    const std::string sub = folder + "/class_" + std::to_string(c);
    fs::create_directories(sub);
    for (int i = 0; i < per_class; ++i) {
      WriteJpeg(sub + "/" + std::to_string(i) + ".jpg", 40 + static_cast<int>(random() % 300),
                40 + static_cast<int>(random() % 300), random);
    }
  }
}

void MakeEqualImages(const std::string& folder, int count, int width, int height) {
  std::mt19937 random(1);
  const std::string sub = folder + "/class_0";
  fs::create_directories(sub);
  const std::string first = sub + "/0.jpg";
  WriteJpeg(first, width, height, random);
  for (int i = 1; i < count; ++i) fs::copy_file(first, sub + "/" + std::to_string(i) + ".jpg");
}

}  // namespace headrace::testing_support
