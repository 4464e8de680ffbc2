#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "ops/vision/image_header.h"
#include "ops/vision/jpeg/jpeg_decoder.h"
#include "ops/vision/jpeg/jpeg_test_util.h"
#include "ops/vision/png/png_decoder.h"

namespace headrace::ops {
namespace {

constexpr std::int64_t kMostPixels = 1 << 18;  // more would only be slower

// The window's pixels are those that libjpeg alone makes of the file.
void CheckPixels(const Image& image, const Window& window, std::int64_t width,
                 const std::vector<std::uint8_t>& whole) {
  for (std::int64_t y = 0; y < window.height; ++y) {
    for (std::int64_t x = 0; x < window.width; ++x) {
      const std::uint8_t* pixel = image.data + y * image.row_stride + x * image.pixel_stride;
      const auto at = ((window.top + y) * width + window.left + x) * 3;
      if (!std::equal(pixel, pixel + 3, whole.begin() + at)) std::abort();
    }
  }
}

// The window's pixels are those of the whole image, in either format.
void TryPng(ByteSpan file, const Window& window, std::int64_t width) {
  PngDecoder decoder;
  ScratchBuffer memory, all;
  Image image, part;
  const bool whole = decoder.DecodeRgb(file, {}, PixelFormat::kRgb, all, &image).ok();
  if (!decoder.DecodeRgb(file, window, PixelFormat::kRgbx, memory, &part).ok()) return;
  if (!whole) return;  // a pixel outside of the window has no colour
  const auto bytes = static_cast<std::size_t>(image.spec.height * width * 3);
  CheckPixels(part, window, width, {image.data, image.data + bytes});
}

void TryFile(ByteSpan file, std::uint32_t choice) {
  const Result<ImageHeader> header = ReadImageHeader(file);
  if (!header.ok() || header->need_bytes > 0) return;
  if (header->width * header->height > kMostPixels) return;
  ScratchBuffer memory;
  Image image;
  Window window;
  window.top = choice % 251 * header->height / 251;
  window.left = choice / 251 % 241 * header->width / 241;
  window.height = 1 + choice / 7 % 239 * (header->height - window.top - 1) / 239;
  window.width = 1 + choice / 13 % 233 * (header->width - window.left - 1) / 233;
  if (header->format == ImageFormat::kPng) {
    TryPng(file, window, header->width);
    return;
  }
  JpegDecoder decoder;
  (void)decoder.ReadForm(file);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(header->width * header->height * 3));
  const bool taken =
      decoder.DecodeWhole(file, Channels::kRgb, std::as_writable_bytes(std::span(pixels))).ok();
  const Status status = decoder.DecodeRgb(file, window, PixelFormat::kRgbx, memory, &image);
  if (!status.ok() || header->channels == 4) return;
  const auto whole = DecodeByLibjpeg({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!whole.has_value() || (taken && pixels != *whole)) std::abort();
  CheckPixels(image, window, header->width, *whole);
}

}  // namespace
}  // namespace headrace::ops

// An encoded image as it lies in a file; the first four bytes choose the window.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::uint32_t choice = static_cast<std::uint32_t>(data[0]) | data[1] << 8U |
                               data[2] << 16U | static_cast<std::uint32_t>(data[3]) << 24U;
  headrace::ops::TryFile(std::as_bytes(std::span(data + 4, size - 4)), choice);
  return 0;
}
