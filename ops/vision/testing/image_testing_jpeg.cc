// A JPEG encoder for tests that can make every layout that libjpeg can write.
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
// jpeglib.h needs what <cstdio> declares.
// clang-format off
#include <jpeglib.h>
// clang-format on

#define HR_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf landing;
};

void OnError(j_common_ptr common) {
  std::longjmp(reinterpret_cast<Errors*>(common->err)->landing, 1);
}

}  // namespace

// pixels: packed, `components` bytes each (1 gray, 3 RGB, 4 CMYK). options: libjpeg's J_COLOR_SPACE
// of the file, quality, progressive, restart interval in MCU, arithmetic coding, one scan per
// component, then h and v sampling factor of each component. Returns the size of the file in out,
// or 0 if libjpeg refuses the options.
HR_EXPORT std::size_t hr_jpeg_encode(const std::uint8_t* pixels, std::int64_t width,
                                     std::int64_t height, int components, const int* options,
                                     std::uint8_t* out, std::size_t capacity) {
  jpeg_compress_struct info;
  Errors errors;
  unsigned char* volatile data = nullptr;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = OnError;
  errors.manager.output_message = [](j_common_ptr) {};
  if (setjmp(errors.landing) != 0) {
    jpeg_destroy_compress(&info);
    std::free(data);
    return 0;
  }
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = components;
  info.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, static_cast<J_COLOR_SPACE>(options[0]));
  jpeg_set_quality(&info, options[1], TRUE);
  info.restart_interval = static_cast<unsigned>(options[3]);
  info.arith_code = options[4] != 0 ? TRUE : FALSE;
  for (int c = 0; c < info.num_components; ++c) {
    info.comp_info[c].h_samp_factor = options[6 + 2 * c];
    info.comp_info[c].v_samp_factor = options[7 + 2 * c];
  }
  jpeg_scan_info scans[4];
  if (options[2] != 0) {
    jpeg_simple_progression(&info);
  } else if (options[5] != 0) {
    for (int c = 0; c < info.num_components; ++c) {
      scans[c] = jpeg_scan_info{1, {c, 0, 0, 0}, 0, 63, 0, 0};
    }
    info.scan_info = scans;
    info.num_scans = info.num_components;
  }
  jpeg_start_compress(&info, TRUE);
  for (std::int64_t y = 0; y < height; ++y) {
    auto* row = const_cast<JSAMPLE*>(pixels + y * width * components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  data = memory;
  const std::size_t written = size <= capacity ? size : 0;
  if (written > 0) std::memcpy(out, data, written);
  std::free(data);
  return written;
}
