#include "ops/vision/jpeg/jpeg_test_util.h"

#include <csetjmp>
#include <cstdlib>
#include <random>

namespace headrace::ops {
namespace {

int Components(J_COLOR_SPACE space) {
  return space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK || space == JCS_YCCK ? 4 : 3;
}

struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf landing;
};

[[noreturn]] void Leave(j_common_ptr common) {
  std::longjmp(reinterpret_cast<Errors*>(common->err)->landing, 1);
}

}  // namespace

std::string EncodeJpeg(int width, int height, const JpegLayout& layout) {
  std::mt19937 random(1);
  const auto row_bytes = static_cast<std::size_t>(width * Components(layout.space));
  std::vector<std::uint8_t> pixels(row_bytes * static_cast<std::size_t>(height));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto noise = random() % static_cast<unsigned>(layout.noise);
    pixels[i] = static_cast<std::uint8_t>(i % row_bytes * 3 + i / row_bytes * 2 + noise);
  }
  return EncodeJpeg(width, height, layout, pixels);
}

std::string EncodeJpeg(int width, int height, const JpegLayout& layout,
                       const std::vector<std::uint8_t>& pixels) {
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
  jpeg_set_quality(&info, layout.quality, TRUE);
  info.comp_info[0].h_samp_factor = layout.h;
  info.comp_info[0].v_samp_factor = layout.v;
  info.restart_interval = static_cast<unsigned>(layout.restart);
  info.optimize_coding = layout.own_tables ? TRUE : FALSE;
  if (layout.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    const std::size_t at = std::size_t{info.next_scanline} * static_cast<std::size_t>(width);
    auto* row = const_cast<JSAMPLE*>(pixels.data() + at * static_cast<std::size_t>(components));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<const char*>(data), size);
  std::free(data);
  return file;
}

std::optional<std::vector<std::uint8_t>> DecodeByLibjpeg(const std::string& file) {
  jpeg_decompress_struct info;
  Errors errors;
  std::vector<std::uint8_t> pixels;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = Leave;
  errors.manager.emit_message = [](j_common_ptr, int) {};
  if (setjmp(errors.landing) != 0) {
    jpeg_destroy_decompress(&info);
    return std::nullopt;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  info.src->fill_input_buffer = [](j_decompress_ptr decompress) -> boolean {
    Leave(reinterpret_cast<j_common_ptr>(decompress));
  };
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const std::size_t stride = std::size_t{3} * info.output_width;
  pixels.resize(stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW at = pixels.data() + stride * info.output_scanline;
    jpeg_read_scanlines(&info, &at, 1);
  }
  jpeg_destroy_decompress(&info);
  return pixels;
}

}  // namespace headrace::ops
